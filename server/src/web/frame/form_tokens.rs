//! One-time values in forms that create something: a form that is sent twice creates it once.
//!
//! States of a token, per account:
//!
//! ```text
//! (not known) -> claim -> in progress -> finish -> done (the key that was created)
//!                              |-> dropped claim -> (not known): the form may be sent again
//! in progress or done -> claim -> refused: the form was sent before
//! ```

use std::collections::VecDeque;

use parking_lot::Mutex;
use subcat_engine::{AccountId, ApiKeyId};

use super::secret::Secret;
use crate::limits::FORM_TOKENS_MAX;

/// Hexadecimal digits of the part of a token that names the process.
const PROCESS_DIGITS: usize = 16;
/// Hexadecimal digits of the part that names the form.
const FORM_DIGITS: usize = 32;

/// Tokens that were used, newest last.
pub(crate) struct FormTokens {
    /// Begins every token of this process: one of another process cannot be known as used.
    process: String,
    used: Mutex<VecDeque<UsedToken>>,
}

struct UsedToken {
    account: AccountId,
    text: String,
    /// The key that the form created; `None` while it is being created.
    created: Option<ApiKeyId>,
}

/// Reason why a form is not processed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenRejection {
    /// The form was sent before. The key that it created; `None` while it is being created, or if
    /// it created something else.
    Used(Option<ApiKeyId>),
    /// The form comes from before the restart of the server, or from nowhere.
    Unknown,
}

/// A token in progress. Dropping it without [`TokenClaim::finish`] lets the form be sent again.
pub(crate) struct TokenClaim<'a> {
    tokens: &'a FormTokens,
    account: AccountId,
    /// Empty for a form without a token, as scripts send it.
    text: String,
}

impl FormTokens {
    /// Tokens of a new process.
    pub(crate) fn new() -> Self {
        Self {
            process: Secret::random().as_str()[..PROCESS_DIGITS].to_owned(),
            used: Mutex::new(VecDeque::new()),
        }
    }

    /// A token for a form.
    pub(crate) fn issue(&self) -> String {
        format!(
            "{}{}",
            self.process,
            &Secret::random().as_str()[..FORM_DIGITS]
        )
    }

    /// Claims the token of a form. A form without one is always accepted: it was not sent by a
    /// browser, which could repeat it by a reload.
    pub(crate) fn claim(
        &self,
        account: AccountId,
        text: &str,
    ) -> Result<TokenClaim<'_>, TokenRejection> {
        // Made last: a claim that is dropped on an early return would free the token of another
        // one.
        let claim = || TokenClaim {
            tokens: self,
            account,
            text: text.to_owned(),
        };
        if text.is_empty() {
            return Ok(claim());
        }
        if text.len() != PROCESS_DIGITS + FORM_DIGITS || !text.starts_with(&self.process) {
            return Err(TokenRejection::Unknown);
        }
        let mut used = self.used.lock();
        let known = used
            .iter()
            .find(|known| known.account == account && known.text == text);
        if let Some(known) = known {
            return Err(TokenRejection::Used(known.created));
        }
        if FORM_TOKENS_MAX <= used.len() {
            used.pop_front();
        }
        used.push_back(UsedToken {
            account,
            text: text.to_owned(),
            created: None,
        });
        Ok(claim())
    }
}

impl TokenClaim<'_> {
    /// Remembers the key that the form has created.
    pub(crate) fn finish(mut self, created: ApiKeyId) {
        let mut used = self.tokens.used.lock();
        if let Some(known) = self.find(&mut used) {
            known.created = Some(created);
        }
        drop(used);
        self.text.clear();
    }

    /// Remembers that the form has created something that has no number.
    pub(crate) fn finish_unnamed(mut self) {
        self.text.clear();
    }

    fn find<'t>(&self, used: &'t mut VecDeque<UsedToken>) -> Option<&'t mut UsedToken> {
        used.iter_mut()
            .rev()
            .find(|known| known.account == self.account && known.text == self.text)
    }
}

impl Drop for TokenClaim<'_> {
    fn drop(&mut self) {
        if !self.text.is_empty() {
            let is_other =
                |known: &UsedToken| known.account != self.account || known.text != self.text;
            self.tokens.used.lock().retain(is_other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANA: AccountId = AccountId(1);

    #[test]
    fn a_form_that_is_sent_twice_is_processed_once() {
        let tokens = FormTokens::new();
        let token = tokens.issue();
        let claim = tokens.claim(ANA, &token).ok().unwrap();
        let again = || tokens.claim(ANA, &token).err();
        assert_eq!(again(), Some(TokenRejection::Used(None)));
        assert_eq!(
            again(),
            Some(TokenRejection::Used(None)),
            "a refusal frees nothing"
        );
        claim.finish(ApiKeyId(7));
        assert_eq!(again(), Some(TokenRejection::Used(Some(ApiKeyId(7)))));
        assert!(tokens.claim(AccountId(2), &token).is_ok());
        let other = tokens.issue();
        tokens.claim(ANA, &other).ok().unwrap().finish_unnamed();
        let again = tokens.claim(ANA, &other).err();
        assert_eq!(again, Some(TokenRejection::Used(None)));
    }

    #[test]
    fn a_form_that_created_nothing_may_be_sent_again() {
        let tokens = FormTokens::new();
        let token = tokens.issue();
        drop(tokens.claim(ANA, &token));
        assert!(tokens.claim(ANA, &token).is_ok());
    }

    #[test]
    fn only_tokens_of_this_process_are_accepted() {
        let tokens = FormTokens::new();
        let other = FormTokens::new().issue();
        let rejection = |text: &str| tokens.claim(ANA, text).err();
        assert_eq!(rejection(&other), Some(TokenRejection::Unknown));
        assert_eq!(rejection("x"), Some(TokenRejection::Unknown));
        assert_eq!(rejection(""), None);
    }

    #[test]
    fn the_table_is_bounded() {
        let tokens = FormTokens::new();
        for _ in 0..=FORM_TOKENS_MAX {
            let claim = tokens.claim(ANA, &tokens.issue()).ok().unwrap();
            claim.finish(ApiKeyId(1));
        }
        assert_eq!(tokens.used.lock().len(), FORM_TOKENS_MAX);
    }
}
