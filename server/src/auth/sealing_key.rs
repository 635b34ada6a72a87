//! The key that seals secrets of second steps and signs what browsers keep. It lies in a file of
//! its own in the data directory, which no backup, snapshot or log has: a copy of the rows is worth
//! no code and no cookie.
//!
//! ```text
//! sealed = id of the key (8), nonce (12), ChaCha20-Poly1305 of the secret (20) with tag (16)
//! ```
//!
//! The id of the account is authenticated with it, so that the secret of one account does not sign
//! in to another. Each use has a key of its own, derived by HMAC-SHA-256.

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hmac;
use subcat_engine::{AccountId, Engine, SEALED_SECRET_BYTES, SEALING_KEY_BYTES, StepSecret};

/// Bytes of the secret of a second step.
const SECRET_BYTES: usize = 20;
/// Bytes that name the key.
const ID_BYTES: usize = 8;
/// First byte of the sealed secret itself.
const SECRET_AT: usize = ID_BYTES + NONCE_LEN;

/// A sealing key, ready for use.
pub struct SealingKey {
    id: [u8; ID_BYTES],
    seals: LessSafeKey,
    proofs: hmac::Key,
}

impl SealingKey {
    /// The key with these bytes.
    pub fn new(bytes: &[u8; SEALING_KEY_BYTES]) -> Self {
        let root = hmac::Key::new(hmac::HMAC_SHA256, bytes);
        let derive = |purpose: &str| hmac::sign(&root, purpose.as_bytes());
        let mut id = [0; ID_BYTES];
        id.copy_from_slice(&derive("subcat: id of the key").as_ref()[..ID_BYTES]);
        let seals = derive("subcat: secrets of second steps");
        let seals = UnboundKey::new(&CHACHA20_POLY1305, seals.as_ref());
        let proofs = derive("subcat: cookies of known browsers");
        Self {
            id,
            seals: LessSafeKey::new(seals.expect("the key has the length of the cipher")),
            proofs: hmac::Key::new(hmac::HMAC_SHA256, proofs.as_ref()),
        }
    }

    /// The key of an open data directory, if it has one.
    pub fn of(engine: &Engine) -> subcat_engine::Result<Option<Self>> {
        Ok(engine.sealing_key()?.map(|bytes| Self::new(&bytes)))
    }

    /// The key of an open data directory; a new one, which is kept there, if it has none.
    pub fn of_or_new(engine: &Engine) -> subcat_engine::Result<Self> {
        if let Some(key) = Self::of(engine)? {
            return Ok(key);
        }
        let mut bytes = [0; SEALING_KEY_BYTES];
        getrandom::fill(&mut bytes).expect("the kernel gives randomness once it is up");
        engine.keep_sealing_key(&bytes)?;
        Ok(Self::new(&bytes))
    }

    /// Seals the secret of an account.
    pub fn seal(
        &self,
        account: AccountId,
        secret: &[u8; SECRET_BYTES],
    ) -> [u8; SEALED_SECRET_BYTES] {
        let mut sealed = [0; SEALED_SECRET_BYTES];
        sealed[..ID_BYTES].copy_from_slice(&self.id);
        let mut nonce = [0; NONCE_LEN];
        getrandom::fill(&mut nonce).expect("the kernel gives randomness once it is up");
        sealed[ID_BYTES..SECRET_AT].copy_from_slice(&nonce);
        let (body, tag_place) = sealed[SECRET_AT..].split_at_mut(SECRET_BYTES);
        body.copy_from_slice(secret);
        let nonce = Nonce::assume_unique_for_key(nonce);
        let aad = Aad::from(account.0.to_be_bytes());
        let tag = self.seals.seal_in_place_separate_tag(nonce, aad, body);
        tag_place.copy_from_slice(tag.expect("20 bytes are not too long").as_ref());
        sealed
    }

    /// The secret of an account; `None` if another key has sealed it, or for another account.
    pub fn open(&self, account: AccountId, secret: &StepSecret) -> Option<[u8; SECRET_BYTES]> {
        let sealed = match secret {
            StepSecret::Plain(secret) => return Some(*secret),
            StepSecret::Sealed(sealed) => sealed,
        };
        if sealed[..ID_BYTES] != self.id {
            return None;
        }
        let nonce = Nonce::try_assume_unique_for_key(&sealed[ID_BYTES..SECRET_AT]).ok()?;
        let aad = Aad::from(account.0.to_be_bytes());
        let mut body = sealed[SECRET_AT..].to_vec();
        let opened = self.seals.open_in_place(nonce, aad, &mut body).ok()?;
        opened.try_into().ok()
    }

    /// A proof of a text that only a holder of the key can make.
    pub(crate) fn proof(&self, text: &str) -> [u8; 32] {
        let mut proof = [0; 32];
        proof.copy_from_slice(hmac::sign(&self.proofs, text.as_bytes()).as_ref());
        proof
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANA: AccountId = AccountId(1);
    const SECRET: [u8; SECRET_BYTES] = *b"12345678901234567890";

    #[test]
    fn a_secret_is_opened_by_its_key_for_its_account_alone() {
        let key = SealingKey::new(&[1; 32]);
        let sealed = key.seal(ANA, &SECRET);
        let open = |key: &SealingKey, id, sealed| key.open(id, &StepSecret::Sealed(sealed));
        assert_eq!(open(&key, ANA, sealed), Some(SECRET));
        assert_eq!(open(&SealingKey::new(&[1; 32]), ANA, sealed), Some(SECRET));
        assert_eq!(open(&SealingKey::new(&[2; 32]), ANA, sealed), None);
        assert_eq!(open(&key, AccountId(2), sealed), None);
        for idx in 0..SEALED_SECRET_BYTES {
            let mut changed = sealed;
            changed[idx] ^= 1;
            assert_eq!(open(&key, ANA, changed), None, "byte {idx}");
        }
        assert_ne!(key.seal(ANA, &SECRET), sealed, "a nonce is used once");
        assert_eq!(key.open(ANA, &StepSecret::Plain(SECRET)), Some(SECRET));
    }

    #[test]
    fn a_sealed_secret_shows_nothing_of_it() {
        let sealed = SealingKey::new(&[1; 32]).seal(ANA, &SECRET);
        assert!(!sealed.windows(4).any(|part| part == &SECRET[..4]));
    }

    #[test]
    fn proofs_depend_on_key_and_text() {
        let key = SealingKey::new(&[1; 32]);
        assert_eq!(key.proof("a"), SealingKey::new(&[1; 32]).proof("a"));
        assert_ne!(key.proof("a"), key.proof("b"));
        assert_ne!(key.proof("a"), SealingKey::new(&[2; 32]).proof("a"));
    }
}
