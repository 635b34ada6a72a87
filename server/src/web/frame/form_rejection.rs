//! Reasons why a submitted form is shown again, with their texts.

use http::StatusCode;
use subcat_engine::DISPLAY_NAME_CHARS_MAX;

use super::language::Lang;
use super::message::messages;
use super::password::PasswordRejection;
use crate::limits::{EXPIRY_DAYS_MAX, KEYS_MAX};
use crate::limits::{PASSWORD_BYTES_MAX, PASSWORD_CHARS_MIN};
use crate::ops::OperationRejection;

messages! {
    /// Reason why a form is rejected and shown again, with the field to correct: empty for none,
    /// [`PASSWORD_FIELD`] for the one of the new password.
    enum FormRejection {
        TooManyAttempts "" =>
            "Too many attempts. Wait a few minutes, then try again.",
            "Demasiados intentos. Espera unos minutos y vuelve a intentarlo.";
        WrongCredentials "" =>
            "The email address or the password is not correct.",
            "El correo electrónico o la contraseña no son correctos.";
        WrongCurrentPassword "old" =>
            "The current password is not correct.",
            "La contraseña actual no es correcta.";
        WrongPasswordForAddress "address-password" =>
            "The current password is not correct.",
            "La contraseña actual no es correcta.";
        /// The code of the second step is wrong, or was used.
        WrongCode "code" =>
            "This code is not correct, or was used before. Codes change every 30 seconds.",
            "El código no es correcto o ya se ha usado. Cambia cada 30 segundos.";
        /// The secret of the second step was sealed with a key that is not here.
        SecretNotOpened "code" =>
            "Codes of your app cannot be checked here. Type one of your recovery codes, or ask an \
             administrator to turn the second step off.",
            "Aquí no se pueden comprobar los códigos de tu aplicación. Escribe uno de tus códigos \
             de recuperación, o pide a un administrador que desactive el segundo paso.";
        /// There is no key to seal the secret of a second step with.
        NoSealingKey "" =>
            "This server has no key to seal the secret with: ask its operator.",
            "Este servidor no tiene la clave para sellar el secreto: consulta a quien lo \
             administra.";
        /// The change would leave no administrator.
        LastAdministrator "" =>
            "This is the only administrator. Make somebody else an administrator first.",
            "Es la única cuenta de administrador. Antes, haz administrador a otra persona.";
        InvalidEmail "email" =>
            "This is not a valid email address.",
            "Esta no es una dirección de correo electrónico válida.";
        InvalidDisplayName "name" =>
            "A name must have at most 80 characters and one line.",
            "El nombre debe tener una sola línea y 80 caracteres como máximo.";
        EmailTaken "email" =>
            "This address has an account already.",
            "Esta dirección ya tiene una cuenta.";
        PasswordTooShort PASSWORD_FIELD =>
            "The password is too short: use at least 8 characters.",
            "La contraseña es demasiado corta: usa al menos 8 caracteres.";
        PasswordTooLong PASSWORD_FIELD =>
            "The password is too long: use at most 256 bytes.",
            "La contraseña es demasiado larga: usa como máximo 256 bytes.";
        PasswordTooCommon PASSWORD_FIELD =>
            "This password is one of the first that an attacker tries: choose another one.",
            "Esta contraseña es de las primeras que probaría un atacante: elige otra.";
        InvalidKeyName "name" =>
            "Enter a name of 1 to 100 characters.",
            "Escribe un nombre de 1 a 100 caracteres.";
        InvalidLimit "requests" =>
            "Enter two whole numbers of at least 1, or leave both empty.",
            "Escribe dos números enteros de 1 como mínimo, o deja los dos campos vacíos.";
        InvalidExpiryDate "expires_on" =>
            "Choose the day on which the key expires.",
            "Elige el día en que caduca la clave.";
        InvalidExpiryDays "expires" =>
            "Enter the number of days as a whole number.",
            "Escribe el número de días como un número entero.";
        ExpiryPassed "expires" =>
            "The expiry is in the past: the key would never work.",
            "La fecha de caducidad ya ha pasado: la clave no funcionaría nunca.";
        ExpiryTooFar "expires" =>
            "The expiry is too far in the future: at most 36525 days.",
            "La fecha de caducidad está demasiado lejos: como máximo 36525 días.";
        NoScopes "scope" =>
            "Choose at least one scope.",
            "Elige al menos un permiso.";
        TooManyKeys "" =>
            "Your account has 5000 API keys, including revoked ones, which is the maximum.",
            "Tu cuenta tiene 5000 claves de API, incluidas las revocadas: es el máximo.";
        TooManyActiveKeys "" =>
            "Your account has as many active API keys as it may have. Revoke one first.",
            "Tu cuenta ya tiene el máximo de claves de API activas. Revoca una antes.";
        /// The key is revoked, expired, or was rolled before.
        NotRolled "" =>
            "This key has been revoked or rolled already, or has expired.",
            "Esta clave ya se ha revocado o renovado, o ha caducado.";
        /// The form comes from before the restart of the server.
        FormTooOld "" =>
            "The server was restarted since this form was opened. Send it again.",
            "El servidor se ha reiniciado desde que se abrió el formulario. Vuelve a enviarlo.";
    }
}

/// Stands for the field of the new password, which has another name in each form.
const PASSWORD_FIELD: &str = "new password";

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
        let field = match self.label() {
            PASSWORD_FIELD => password,
            field => field,
        };
        let text = self.text(lang);
        FormFault { field, text }
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
