//! The second step of a sign-in: codes of an authenticator app (RFC 6238), and recovery codes.

use qrcodegen::{QrCode, QrCodeEcc};
use subcat_engine::{SecondStep, Timestamp, UsedCode};
use totp_rs::{Builder, Secret, Totp};

use crate::auth::api_key_digest;
use crate::limits::RECOVERY_CODES;

/// Name of this service in an authenticator app.
const ISSUER: &str = "subcat";
/// Characters of a recovery code: none looks like another.
const RECOVERY_ALPHABET: &[u8; 32] = b"abcdefghjkmnpqrstuvwxyz023456789";
/// Characters of a recovery code, 5 bits each.
const RECOVERY_CHARS: usize = 12;
/// Light modules around a QR code, which readers need.
const QUIET_MODULES: i32 = 4;

/// A secret for a new second step.
pub(crate) fn new_secret() -> [u8; 20] {
    let mut secret = [0; 20];
    getrandom::fill(&mut secret).expect("the kernel gives randomness once it is up");
    secret
}

/// The secret in the form that is typed into an app: base32.
pub(crate) fn secret_text(secret: &[u8; 20]) -> String {
    Secret::from(*secret).to_base32()
}

/// Reads [`secret_text`].
pub(crate) fn parse_secret(text: &str) -> Option<[u8; 20]> {
    let secret = Secret::try_from_base32(text).ok()?;
    secret.as_ref().try_into().ok()
}

/// Codes as every authenticator app makes them: SHA-1, 6 digits, 30 seconds; those of one step
/// before and after count too, for clocks that differ.
fn totp(secret: &[u8; 20], account: &str) -> Option<Totp> {
    let builder = Builder::new().with_secret(*secret);
    // The address of an app separates issuer and account by a colon.
    let account = account.replace(':', "_");
    let builder = builder.with_account_name(account).with_issuer(Some(ISSUER));
    builder.build().ok()
}

/// The address that an app reads from a QR code or a link; empty if it cannot be made.
pub(crate) fn otpauth_url(secret: &[u8; 20], account: &str) -> String {
    let url = totp(secret, account).and_then(|totp| totp.to_url().ok());
    url.unwrap_or_default()
}

/// A code that is right and was not used, if `typed` is one. Without the secret, which another key
/// has sealed, only recovery codes are right.
pub(crate) fn check(
    second: &SecondStep,
    secret: Option<&[u8; 20]>,
    typed: &str,
    now: Timestamp,
) -> Option<UsedCode> {
    let plain: String = typed
        .chars()
        .filter(|c| !c.is_whitespace() && *c != '-')
        .collect::<String>()
        .to_ascii_lowercase();
    if plain.len() == RECOVERY_CHARS {
        // Compared by digest, so that the time of the comparison reveals nothing about a code.
        let digest = api_key_digest(&plain);
        let is_known = second.recovery_digests.contains(&digest);
        return is_known.then_some(UsedCode::Recovery(digest));
    }
    let step = step_of(secret?, &plain, now)?;
    (second.last_step < step).then_some(UsedCode::Step(step))
}

/// The 30 seconds of a code of an app with this secret, if `typed` is one.
pub(crate) fn step_of(secret: &[u8; 20], typed: &str, now: Timestamp) -> Option<u64> {
    let plain: String = typed.chars().filter(|c| !c.is_whitespace()).collect();
    let seconds = u64::try_from(now.seconds()).ok()?;
    totp(secret, ISSUER)?.check(&plain, seconds)
}

/// New recovery codes: their digests, and the codes, which are shown once.
pub(crate) fn new_recovery_codes() -> (Vec<[u8; 32]>, Vec<String>) {
    let codes: Vec<String> = (0..RECOVERY_CODES).map(|_| recovery_code()).collect();
    let digests = codes.iter().map(|code| api_key_digest(code)).collect();
    let shown = codes.iter().map(|code| {
        let (first, rest) = code.split_at(RECOVERY_CHARS / 3);
        let (second, third) = rest.split_at(RECOVERY_CHARS / 3);
        format!("{first}-{second}-{third}")
    });
    (digests, shown.collect())
}

fn recovery_code() -> String {
    let mut bytes = [0; RECOVERY_CHARS];
    getrandom::fill(&mut bytes).expect("the kernel gives randomness once it is up");
    let alphabet = |byte: &u8| char::from(RECOVERY_ALPHABET[usize::from(byte % 32)]);
    bytes.iter().map(alphabet).collect()
}

/// A QR code for drawing: side of the square in modules, and the path of the dark ones.
pub(crate) struct QrDrawing {
    pub(crate) side: i32,
    pub(crate) path: String,
}

impl QrDrawing {
    /// A drawing of this text; `None` if it is too long.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let code = QrCode::encode_text(text, QrCodeEcc::Medium).ok()?;
        let mut path = String::new();
        for y in 0..code.size() {
            for x in 0..code.size() {
                if code.get_module(x, y) {
                    let (left, top) = (x + QUIET_MODULES, y + QUIET_MODULES);
                    path.push_str(&format!("M{left} {top}h1v1h-1z"));
                }
            }
        }
        Some(Self {
            side: code.size() + 2 * QUIET_MODULES,
            path,
        })
    }
}

#[cfg(test)]
mod tests {
    use subcat_engine::{SEALED_SECRET_BYTES, StepSecret};

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_seconds(seconds).unwrap()
    }

    /// RFC 6238, appendix B: the secret and the codes of SHA-1. Apps show six of their digits.
    #[test]
    fn codes_are_those_of_the_rfc() {
        let secret = b"12345678901234567890";
        let second = SecondStep {
            secret: StepSecret::Sealed([0; SEALED_SECRET_BYTES]),
            last_step: 0,
            recovery_digests: Vec::new(),
        };
        let used = |code: &str, seconds| check(&second, Some(secret), code, at(seconds));
        assert_eq!(used("287082", 59), Some(UsedCode::Step(1)));
        assert_eq!(
            used("081804", 1_111_111_109),
            Some(UsedCode::Step(37_037_036))
        );
        assert_eq!(
            used(" 081 804 ", 1_111_111_109),
            Some(UsedCode::Step(37_037_036))
        );
        // A clock that is one step off, and one that is more.
        assert_eq!(
            used("081804", 1_111_111_139),
            Some(UsedCode::Step(37_037_036))
        );
        assert_eq!(used("081804", 1_111_111_170), None);
        for wrong in ["081805", "", "08180", "0818044", "abcdef", "081804081804"] {
            assert_eq!(used(wrong, 1_111_111_109), None, "{wrong}");
        }
        let late = SecondStep {
            last_step: 37_037_036,
            ..second
        };
        assert_eq!(
            check(&late, Some(secret), "081804", at(1_111_111_109)),
            None,
            "it was used"
        );
        assert_eq!(check(&late, None, "081804", at(1_111_111_200)), None);
    }

    #[test]
    fn a_recovery_code_is_read_as_it_is_shown() {
        let (recovery_digests, codes) = new_recovery_codes();
        assert_eq!(codes.len(), RECOVERY_CODES);
        let second = SecondStep {
            secret: StepSecret::Sealed([0; SEALED_SECRET_BYTES]),
            last_step: 5,
            recovery_digests,
        };
        for code in &codes {
            for typed in [code.clone(), code.to_uppercase(), code.replace('-', " ")] {
                let used = check(&second, None, &typed, at(0));
                assert!(matches!(used, Some(UsedCode::Recovery(_))), "{typed}");
            }
        }
        assert_eq!(check(&second, None, "aaaa-aaaa-aaaa", at(0)), None);
    }

    #[test]
    fn a_secret_is_read_as_it_is_shown() {
        let secret = new_secret();
        assert_eq!(parse_secret(&secret_text(&secret)), Some(secret));
        assert_eq!(parse_secret("GEZDGNBV"), None);
        assert_eq!(parse_secret("no base 32!"), None);
        let url = otpauth_url(b"12345678901234567890", "ana@example.org");
        assert!(
            url.starts_with("otpauth://totp/subcat:ana%40example"),
            "{url}"
        );
        let parameters = "?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=subcat";
        assert!(url.ends_with(parameters), "{url}");
        let drawing = QrDrawing::of(&url).unwrap();
        assert!(drawing.path.len() < 16_384, "{}", drawing.path.len());
    }
}
