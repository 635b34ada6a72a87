//! Reasons why a submitted form is shown again, with their texts.

use http::StatusCode;
use subcat_engine::DISPLAY_NAME_CHARS_MAX;

use super::language::Lang;
use super::password::PasswordRejection;
use crate::limits::{EXPIRY_DAYS_MAX, KEYS_MAX};
use crate::limits::{PASSWORD_BYTES_MAX, PASSWORD_CHARS_MIN};
use crate::ops::OperationRejection;

/// Reason why a form is rejected and shown again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FormRejection {
    TooManyAttempts,
    WrongCredentials,
    WrongCurrentPassword,
    WrongPasswordForAddress,
    /// The code of the second step is wrong, or was used.
    WrongCode,
    /// The secret of the second step was sealed with a key that is not here.
    SecretNotOpened,
    /// There is no key to seal the secret of a second step with.
    NoSealingKey,
    /// The change would leave no administrator.
    LastAdministrator,
    InvalidEmail,
    InvalidDisplayName,
    EmailTaken,
    PasswordTooShort,
    PasswordTooLong,
    PasswordTooCommon,
    InvalidKeyName,
    InvalidLimit,
    InvalidExpiryDate,
    InvalidExpiryDays,
    ExpiryPassed,
    ExpiryTooFar,
    NoScopes,
    TooManyKeys,
    TooManyActiveKeys,
    /// The key is revoked, expired, or was rolled before.
    NotRolled,
    /// The form comes from before the restart of the server.
    FormTooOld,
}

/// A rejection in a form: its text, and the field that it belongs to.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FormFault {
    /// Name of the field; empty if the rejection is not about one.
    pub(crate) field: &'static str,
    /// Empty for a form that was not rejected.
    pub(crate) text: &'static str,
}

impl FormFault {
    /// Status of a page with a form, and the message in the form. A rejection of a password belongs
    /// to the field `password`.
    pub(crate) fn of(
        rejection: Option<FormRejection>,
        password: &'static str,
        lang: Lang,
    ) -> (StatusCode, Self) {
        match rejection {
            Some(rejection) => (
                StatusCode::UNPROCESSABLE_ENTITY,
                rejection.fault(password, lang),
            ),
            None => (StatusCode::OK, Self::default()),
        }
    }

    /// True if the form was not rejected.
    pub(crate) const fn is_none(&self) -> bool {
        self.text.is_empty()
    }

    /// True if this field is the one to correct.
    pub(crate) fn is_at(&self, field: &str) -> bool {
        !self.is_none() && self.field == field
    }
}

// The texts below contain these numbers.
const _: () = assert!(PASSWORD_CHARS_MIN == 8);
const _: () = assert!(PASSWORD_BYTES_MAX == 256);
const _: () = assert!(DISPLAY_NAME_CHARS_MAX == 80);
const _: () = assert!(EXPIRY_DAYS_MAX == 36_525);
const _: () = assert!(KEYS_MAX == 5_000);

impl FormRejection {
    /// The rejection of an operation, if a form can cause it.
    pub(crate) const fn of_operation(rejection: &OperationRejection) -> Option<Self> {
        match rejection {
            OperationRejection::ExpiryPassed(_) => Some(Self::ExpiryPassed),
            OperationRejection::NoScopes => Some(Self::NoScopes),
            OperationRejection::TooManyKeys => Some(Self::TooManyKeys),
            OperationRejection::TooManyActiveKeys(_) => Some(Self::TooManyActiveKeys),
            _ => None,
        }
    }

    /// The rejection for a template. It is shown at `password` if the password was rejected.
    pub(crate) fn fault(self, password: &'static str, lang: Lang) -> FormFault {
        let field = match self {
            Self::TooManyAttempts
            | Self::WrongCredentials
            | Self::TooManyKeys
            | Self::TooManyActiveKeys
            | Self::NotRolled
            | Self::LastAdministrator
            | Self::NoSealingKey
            | Self::FormTooOld => "",
            Self::WrongPasswordForAddress => "address-password",
            Self::WrongCode | Self::SecretNotOpened => "code",
            Self::WrongCurrentPassword => "old",
            Self::InvalidEmail | Self::EmailTaken => "email",
            Self::InvalidDisplayName | Self::InvalidKeyName => "name",
            Self::PasswordTooShort | Self::PasswordTooLong | Self::PasswordTooCommon => password,
            Self::InvalidLimit => "requests",
            Self::InvalidExpiryDate => "expires_on",
            Self::InvalidExpiryDays | Self::ExpiryPassed | Self::ExpiryTooFar => "expires",
            Self::NoScopes => "scope",
        };
        let text = self.text(lang);
        FormFault { field, text }
    }

    /// The text about a password that is not accepted.
    const fn password_text(self, lang: Lang) -> &'static str {
        match self {
            Self::PasswordTooShort => lang.t(
                "The password is too short: use at least 8 characters.",
                "La contraseña es demasiado corta: usa al menos 8 caracteres.",
            ),
            Self::PasswordTooLong => lang.t(
                "The password is too long: use at most 256 bytes.",
                "La contraseña es demasiado larga: usa como máximo 256 bytes.",
            ),
            _ => lang.t(
                "This password is one of the first that an attacker tries: choose another one.",
                "Esta contraseña es de las primeras que probaría un atacante: elige otra.",
            ),
        }
    }

    /// The text for the user, in the language of the page.
    pub(crate) const fn text(self, lang: Lang) -> &'static str {
        match self {
            Self::TooManyAttempts => lang.t(
                "Too many attempts. Wait a few minutes, then try again.",
                "Demasiados intentos. Espera unos minutos y vuelve a intentarlo.",
            ),
            Self::WrongCredentials => lang.t(
                "The email address or the password is not correct.",
                "El correo electrónico o la contraseña no son correctos.",
            ),
            Self::WrongCurrentPassword | Self::WrongPasswordForAddress => lang.t(
                "The current password is not correct.",
                "La contraseña actual no es correcta.",
            ),
            Self::WrongCode => lang.t(
                "This code is not correct, or was used before. Codes change every 30 seconds.",
                "El código no es correcto o ya se ha usado. Cambia cada 30 segundos.",
            ),
            Self::LastAdministrator => lang.t(
                "This is the only administrator. Make somebody else an administrator first.",
                "Es la única cuenta de administrador. Antes, haz administrador a otra persona.",
            ),
            Self::InvalidEmail => lang.t(
                "This is not a valid email address.",
                "Esta no es una dirección de correo electrónico válida.",
            ),
            Self::EmailTaken => lang.t(
                "This address has an account already.",
                "Esta dirección ya tiene una cuenta.",
            ),
            Self::InvalidDisplayName => lang.t(
                "A name must have at most 80 characters and one line.",
                "El nombre debe tener una sola línea y 80 caracteres como máximo.",
            ),
            Self::PasswordTooShort | Self::PasswordTooLong | Self::PasswordTooCommon => {
                self.password_text(lang)
            }
            Self::FormTooOld => lang.t(
                "The server was restarted since this form was opened. Send it again.",
                "El servidor se ha reiniciado desde que se abrió el formulario. Vuelve a enviarlo.",
            ),
            Self::SecretNotOpened => lang.t(
                "Codes of your app cannot be checked here. Type one of your recovery codes, or ask \
                 an administrator to turn the second step off.",
                "Aquí no se pueden comprobar los códigos de tu aplicación. Escribe uno de tus \
                 códigos de recuperación, o pide a un administrador que desactive el segundo paso.",
            ),
            Self::NoSealingKey => lang.t(
                "This server has no key to seal the secret with: ask its operator.",
                "Este servidor no tiene la clave para sellar el secreto: consulta a quien lo \
                 administra.",
            ),
            _ => self.key_text(lang),
        }
    }

    /// The text about a key that is not made.
    const fn key_text(self, lang: Lang) -> &'static str {
        match self {
            Self::InvalidKeyName => lang.t(
                "Enter a name of 1 to 100 characters.",
                "Escribe un nombre de 1 a 100 caracteres.",
            ),
            Self::InvalidLimit => lang.t(
                "Enter two whole numbers of at least 1, or leave both empty.",
                "Escribe dos números enteros de 1 como mínimo, o deja los dos campos vacíos.",
            ),
            Self::InvalidExpiryDate => lang.t(
                "Choose the day on which the key expires.",
                "Elige el día en que caduca la clave.",
            ),
            Self::InvalidExpiryDays => lang.t(
                "Enter the number of days as a whole number.",
                "Escribe el número de días como un número entero.",
            ),
            Self::ExpiryPassed => lang.t(
                "The expiry is in the past: the key would never work.",
                "La fecha de caducidad ya ha pasado: la clave no funcionaría nunca.",
            ),
            Self::ExpiryTooFar => lang.t(
                "The expiry is too far in the future: at most 36525 days.",
                "La fecha de caducidad está demasiado lejos: como máximo 36525 días.",
            ),
            Self::NoScopes => lang.t("Choose at least one scope.", "Elige al menos un permiso."),
            Self::TooManyKeys => lang.t(
                "Your account has 5000 API keys, including revoked ones, which is the maximum.",
                "Tu cuenta tiene 5000 claves de API, incluidas las revocadas: es el máximo.",
            ),
            Self::TooManyActiveKeys => lang.t(
                "Your account has as many active API keys as it may have. Revoke one first.",
                "Tu cuenta ya tiene el máximo de claves de API activas. Revoca una antes.",
            ),
            Self::NotRolled => lang.t(
                "This key has been revoked or rolled already, or has expired.",
                "Esta clave ya se ha revocado o renovado, o ha caducado.",
            ),
            _ => "",
        }
    }
}

impl From<PasswordRejection> for FormRejection {
    fn from(rejection: PasswordRejection) -> Self {
        match rejection {
            PasswordRejection::TooShort => Self::PasswordTooShort,
            PasswordRejection::TooLong => Self::PasswordTooLong,
            PasswordRejection::TooCommon => Self::PasswordTooCommon,
        }
    }
}
