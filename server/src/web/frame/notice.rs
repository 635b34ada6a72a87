//! One-time messages about what the request before this page has done.
//!
//! A form is answered with a redirect, so the page after it shows the result. The message travels
//! in a cookie that the page takes away again: a link cannot write it, and a reload does not repeat
//! it.

use http::HeaderValue;

use super::language::Lang;
use super::session;

/// Name of the cookie.
pub(crate) const NOTICE_COOKIE: &str = "subcat-notice";
/// Lifetime of the cookie: longer than any redirect takes.
const NOTICE_SECONDS: i64 = 60;

/// A one-time message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notice {
    KeyRevoked,
    KeyRenamed,
    KeyLimitChanged,
    SessionClosed,
    /// The form of a new key was sent again: its key exists.
    KeyExists,
    NameSaved,
    FileForgotten,
    PasswordChanged,
    SignedUp,
    SignedOut,
    SignedOutEverywhere,
    /// The session had ended when a form was sent.
    SessionEnded,
    AccountDisabled,
    AccountEnabled,
    RoleAdmin,
    RoleUser,
    AccountDeleted,
    LinkExists,
    LinkWithdrawn,
    FeedExists,
    FeedEnded,
    OwnAccount,
    AddressAsked,
    StepOff,
    StepMissing,
    CodeTooLate,
    TotpOff,
    RegistrationOpened,
    RegistrationClosed,
}

impl Notice {
    const ALL: [Self; 29] = [
        Self::KeyRevoked,
        Self::KeyRenamed,
        Self::KeyLimitChanged,
        Self::SessionClosed,
        Self::KeyExists,
        Self::NameSaved,
        Self::FileForgotten,
        Self::PasswordChanged,
        Self::SignedUp,
        Self::SignedOut,
        Self::SignedOutEverywhere,
        Self::SessionEnded,
        Self::AccountDisabled,
        Self::AccountEnabled,
        Self::RoleAdmin,
        Self::RoleUser,
        Self::LinkExists,
        Self::LinkWithdrawn,
        Self::FeedExists,
        Self::FeedEnded,
        Self::OwnAccount,
        Self::AddressAsked,
        Self::AccountDeleted,
        Self::StepOff,
        Self::StepMissing,
        Self::CodeTooLate,
        Self::TotpOff,
        Self::RegistrationOpened,
        Self::RegistrationClosed,
    ];

    /// Value of the cookie.
    const fn code(self) -> &'static str {
        match self {
            Self::KeyRevoked => "key-revoked",
            Self::KeyRenamed => "key-renamed",
            Self::KeyLimitChanged => "key-limit-changed",
            Self::SessionClosed => "session-closed",
            Self::KeyExists => "key-exists",
            Self::NameSaved => "name-saved",
            Self::FileForgotten => "file-forgotten",
            Self::PasswordChanged => "password-changed",
            Self::SignedUp => "signed-up",
            Self::SignedOut => "signed-out",
            Self::SignedOutEverywhere => "signed-out-everywhere",
            Self::SessionEnded => "session-ended",
            Self::AccountDisabled => "account-disabled",
            Self::AccountEnabled => "account-enabled",
            Self::RoleAdmin => "role-admin",
            Self::RoleUser => "role-user",
            Self::LinkExists => "link-exists",
            Self::LinkWithdrawn => "link-withdrawn",
            Self::FeedExists => "feed-exists",
            Self::FeedEnded => "feed-ended",
            Self::OwnAccount => "own-account",
            Self::AddressAsked => "address-asked",
            Self::AccountDeleted => "account-deleted",
            Self::StepOff => "step-off",
            Self::StepMissing => "step-missing",
            Self::CodeTooLate => "code-too-late",
            Self::TotpOff => "totp-off",
            Self::RegistrationOpened => "registration-opened",
            Self::RegistrationClosed => "registration-closed",
        }
    }

    /// The message with this code.
    pub(crate) fn parse(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|notice| notice.code() == code)
    }

    /// The header that leaves the message for the next page.
    pub(crate) fn cookie(self, is_secure: bool) -> HeaderValue {
        session::set_cookie(NOTICE_COOKIE, self.code(), NOTICE_SECONDS, is_secure)
    }

    /// The header that takes the message away.
    pub(crate) fn forget(is_secure: bool) -> HeaderValue {
        session::set_cookie(NOTICE_COOKIE, "", 0, is_secure)
    }

    /// The message in the language of the page.
    pub(crate) const fn text(self, lang: Lang) -> &'static str {
        match self {
            Self::KeyRevoked => lang.t(
                "The API key has been revoked. Requests with it are answered 401.",
                "La clave de API se ha revocado. Las peticiones que la usen recibirán un 401.",
            ),
            Self::KeyRenamed => lang.t(
                "The API key has been renamed.",
                "La clave de API tiene un nombre nuevo.",
            ),
            Self::KeyLimitChanged => lang.t(
                "The rate limit of the API key has been changed.",
                "El límite de peticiones de la clave de API se ha cambiado.",
            ),
            Self::SessionClosed => {
                lang.t("The session has been closed.", "La sesión se ha cerrado.")
            }
            Self::KeyExists => lang.t(
                "This form had already been sent: its API key exists. A key is shown only once; if \
                 you did not copy it, revoke it and create another one.",
                "Este formulario ya se había enviado: su clave de API existe. Una clave se muestra \
                 una sola vez; si no la copiaste, revócala y crea otra.",
            ),
            Self::FileForgotten => lang.t(
                "The file has been forgotten. The next download fetches it again.",
                "El archivo se ha olvidado. La próxima descarga lo obtendrá de nuevo.",
            ),
            Self::NameSaved => lang.t("Your name has been saved.", "Tu nombre se ha guardado."),
            Self::PasswordChanged => lang.t(
                "Your password has been changed.",
                "Tu contraseña se ha cambiado.",
            ),
            Self::SignedUp => lang.t(
                "Almost done: sign in with your email address and password.",
                "Ya casi está: inicia sesión con tu correo electrónico y tu contraseña.",
            ),
            Self::SignedOut => lang.t("You have signed out.", "Has cerrado la sesión."),
            Self::SignedOutEverywhere => lang.t(
                "All sessions of your account have been closed.",
                "Se han cerrado todas las sesiones de tu cuenta.",
            ),
            Self::SessionEnded => lang.t(
                "Your session had ended, so nothing was changed. Sign in and send the form again.",
                "Tu sesión había terminado, así que no se ha cambiado nada. Inicia sesión y vuelve \
                 a enviar el formulario.",
            ),
            _ => self.account_text(lang),
        }
    }

    /// The message about a change of an account.
    const fn account_text(self, lang: Lang) -> &'static str {
        match self {
            Self::AccountDisabled => lang.t(
                "The account has been disabled. Its sessions have ended and its API keys are \
                 rejected.",
                "La cuenta se ha desactivado. Sus sesiones han terminado y sus claves de API se \
                 rechazan.",
            ),
            Self::AccountEnabled => lang.t(
                "The account has been enabled. Its API keys work again.",
                "La cuenta se ha activado. Sus claves de API vuelven a funcionar.",
            ),
            Self::RoleAdmin => lang.t(
                "The account is now an administrator.",
                "La cuenta es ahora de administrador.",
            ),
            Self::RoleUser => lang.t(
                "The account is no longer an administrator.",
                "La cuenta ya no es de administrador.",
            ),
            Self::AccountDeleted => lang.t(
                "The account has been deleted. Its API keys are revoked.",
                "La cuenta se ha eliminado. Sus claves de API están revocadas.",
            ),
            Self::StepOff => lang.t(
                "Signing in no longer asks for a code.",
                "Ya no se pedirá un código al iniciar sesión.",
            ),
            Self::StepMissing => lang.t(
                "Administrators sign in with a second step here. Turn it on to go on.",
                "Aquí los administradores inician sesión en dos pasos. Actívalo para continuar.",
            ),
            Self::CodeTooLate => lang.t(
                "The code came too late. Sign in again.",
                "El código ha llegado tarde. Vuelve a iniciar sesión.",
            ),
            Self::TotpOff => lang.t(
                "The account signs in by its password alone until its owner turns the code on.",
                "La cuenta inicia sesión solo con la contraseña hasta que se reactive el código.",
            ),
            Self::RegistrationOpened => lang.t(
                "Registration is open: anybody can create an account.",
                "El registro está abierto: cualquiera puede crear una cuenta.",
            ),
            Self::RegistrationClosed => lang.t(
                "Registration is closed: accounts are created by invitation.",
                "El registro está cerrado: las cuentas se crean por invitación.",
            ),
            _ => self.link_text(lang),
        }
    }

    /// The message about links, feeds and addresses.
    const fn link_text(self, lang: Lang) -> &'static str {
        match self {
            Self::AddressAsked => lang.t(
                "Sign in again, by the new address. If that fails, it was not changed: use the old \
                 one.",
                "Inicia sesión con el correo nuevo. Si no funciona, no se ha cambiado: usa el \
                 anterior.",
            ),
            Self::LinkExists => lang.t(
                "This form had already been sent: its link exists, and is shown only once. If you \
                 did not copy it, withdraw it and create another one.",
                "Este formulario ya se había enviado: su enlace existe y se muestra una sola vez. \
                 Si no lo copiaste, retíralo y crea otro.",
            ),
            Self::LinkWithdrawn => lang.t(
                "The link has been withdrawn. Nobody can use it any more.",
                "El enlace se ha retirado. Ya nadie puede usarlo.",
            ),
            Self::FeedExists => lang.t(
                "This form had already been sent: the address exists, and is shown only once. If \
                 you did not copy it, create another one.",
                "Este formulario ya se había enviado: la dirección existe y se muestra una sola \
                 vez. Si no la copiaste, crea otra.",
            ),
            Self::FeedEnded => lang.t(
                "The address of your feeds has ended.",
                "La dirección de tus fuentes ya no funciona.",
            ),
            Self::OwnAccount => lang.t(
                "This is your own account. Another administrator can change it.",
                "Esta es tu propia cuenta. Otro administrador puede cambiarla.",
            ),
            _ => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_read_as_its_message_and_nothing_else_is() {
        for notice in Notice::ALL {
            assert_eq!(Notice::parse(notice.code()), Some(notice));
            assert!(!notice.text(Lang::Es).is_empty(), "{notice:?}");
        }
        assert_eq!(Notice::parse("<b>hello</b>"), None);
        assert_eq!(Notice::parse(""), None);
    }
}
