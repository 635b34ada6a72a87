//! One-time messages about what the request before this page has done.
//!
//! A form is answered with a redirect, so the page after it shows the result. The message travels
//! in a cookie that the page takes away again: a link cannot write it, and a reload does not repeat
//! it.

use http::HeaderValue;

use super::language::Lang;
use super::message::messages;
use super::session;

/// Name of the cookie.
pub(crate) const NOTICE_COOKIE: &str = "subcat-notice";
/// Lifetime of the cookie: longer than any redirect takes.
const NOTICE_SECONDS: i64 = 60;

messages! {
    /// A one-time message, with the value of its cookie.
    enum Notice {
        KeyRevoked "key-revoked" =>
            "The API key has been revoked. Requests with it are answered 401.",
            "La clave de API se ha revocado. Las peticiones que la usen recibirán un 401.";
        KeyRenamed "key-renamed" =>
            "The API key has been renamed.",
            "La clave de API tiene un nombre nuevo.";
        KeyLimitChanged "key-limit-changed" =>
            "The rate limit of the API key has been changed.",
            "El límite de peticiones de la clave de API se ha cambiado.";
        SessionClosed "session-closed" =>
            "The session has been closed.",
            "La sesión se ha cerrado.";
        /// The form of a new key was sent again: its key exists.
        KeyExists "key-exists" =>
            "This form had already been sent: its API key exists. A key is shown only once; if you \
             did not copy it, revoke it and create another one.",
            "Este formulario ya se había enviado: su clave de API existe. Una clave se muestra una \
             sola vez; si no la copiaste, revócala y crea otra.";
        NameSaved "name-saved" =>
            "Your name has been saved.",
            "Tu nombre se ha guardado.";
        FileForgotten "file-forgotten" =>
            "The file has been forgotten. The next download fetches it again.",
            "El archivo se ha olvidado. La próxima descarga lo obtendrá de nuevo.";
        PasswordChanged "password-changed" =>
            "Your password has been changed.",
            "Tu contraseña se ha cambiado.";
        SignedUp "signed-up" =>
            "Almost done: sign in with your email address and password.",
            "Ya casi está: inicia sesión con tu correo electrónico y tu contraseña.";
        SignedOut "signed-out" =>
            "You have signed out.",
            "Has cerrado la sesión.";
        SignedOutEverywhere "signed-out-everywhere" =>
            "All sessions of your account have been closed.",
            "Se han cerrado todas las sesiones de tu cuenta.";
        /// The session had ended when a form was sent.
        SessionEnded "session-ended" =>
            "Your session had ended, so nothing was changed. Sign in and send the form again.",
            "Tu sesión había terminado, así que no se ha cambiado nada. Inicia sesión y vuelve a \
             enviar el formulario.";
        AccountDisabled "account-disabled" =>
            "The account has been disabled. Its sessions have ended and its API keys are rejected.",
            "La cuenta se ha desactivado. Sus sesiones han terminado y sus claves de API se \
             rechazan.";
        AccountEnabled "account-enabled" =>
            "The account has been enabled. Its API keys work again.",
            "La cuenta se ha activado. Sus claves de API vuelven a funcionar.";
        RoleAdmin "role-admin" =>
            "The account is now an administrator.",
            "La cuenta es ahora de administrador.";
        RoleUser "role-user" =>
            "The account is no longer an administrator.",
            "La cuenta ya no es de administrador.";
        AccountDeleted "account-deleted" =>
            "The account has been deleted. Its API keys are revoked.",
            "La cuenta se ha eliminado. Sus claves de API están revocadas.";
        LinkExists "link-exists" =>
            "This form had already been sent: its link exists, and is shown only once. If you did \
             not copy it, withdraw it and create another one.",
            "Este formulario ya se había enviado: su enlace existe y se muestra una sola vez. Si \
             no lo copiaste, retíralo y crea otro.";
        LinkWithdrawn "link-withdrawn" =>
            "The link has been withdrawn. Nobody can use it any more.",
            "El enlace se ha retirado. Ya nadie puede usarlo.";
        FeedExists "feed-exists" =>
            "This form had already been sent: the address exists, and is shown only once. If you \
             did not copy it, create another one.",
            "Este formulario ya se había enviado: la dirección existe y se muestra una sola vez. \
             Si no la copiaste, crea otra.";
        FeedEnded "feed-ended" =>
            "The address of your feeds has ended.",
            "La dirección de tus fuentes ya no funciona.";
        OwnAccount "own-account" =>
            "This is your own account. Another administrator can change it.",
            "Esta es tu propia cuenta. Otro administrador puede cambiarla.";
        AddressAsked "address-asked" =>
            "Sign in again, by the new address. If that fails, it was not changed: use the old \
             one.",
            "Inicia sesión con el correo nuevo. Si no funciona, no se ha cambiado: usa el \
             anterior.";
        StepOff "step-off" =>
            "Signing in no longer asks for a code.",
            "Ya no se pedirá un código al iniciar sesión.";
        StepMissing "step-missing" =>
            "Administrators sign in with a second step here. Turn it on to go on.",
            "Aquí los administradores inician sesión en dos pasos. Actívalo para continuar.";
        CodeTooLate "code-too-late" =>
            "The code came too late. Sign in again.",
            "El código ha llegado tarde. Vuelve a iniciar sesión.";
        TotpOff "totp-off" =>
            "The account signs in by its password alone until its owner turns the code on.",
            "La cuenta inicia sesión solo con la contraseña hasta que se reactive el código.";
        RegistrationOpened "registration-opened" =>
            "Registration is open: anybody can create an account.",
            "El registro está abierto: cualquiera puede crear una cuenta.";
        RegistrationClosed "registration-closed" =>
            "Registration is closed: accounts are created by invitation.",
            "El registro está cerrado: las cuentas se crean por invitación.";
    }
}

impl Notice {
    /// The message with this code.
    pub(crate) fn parse(code: &str) -> Option<Self> {
        let (notice, ..) = Self::ROWS.iter().find(|(_, label, _)| *label == code)?;
        Some(*notice)
    }

    /// The header that leaves the message for the next page.
    pub(crate) fn cookie(self, is_secure: bool) -> HeaderValue {
        session::set_cookie(NOTICE_COOKIE, self.label(), NOTICE_SECONDS, is_secure)
    }

    /// The header that takes the message away.
    pub(crate) fn forget(is_secure: bool) -> HeaderValue {
        session::set_cookie(NOTICE_COOKIE, "", 0, is_secure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_read_as_its_message_and_nothing_else_is() {
        for (notice, label, _) in Notice::ROWS {
            assert_eq!(notice.label(), *label);
            assert_eq!(Notice::parse(label), Some(*notice));
            assert!(!notice.text(Lang::Es).is_empty(), "{notice:?}");
        }
        assert_eq!(Notice::parse("<b>hello</b>"), None);
        assert_eq!(Notice::parse(""), None);
    }
}
