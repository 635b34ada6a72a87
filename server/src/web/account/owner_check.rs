//! Checks that a user who is signed in, or about to be, owns the account: the password, and the
//! code of the second step.

use std::sync::Arc;

use subcat_engine::{Account, Outcome, Role, SecondStep, StateEvent};

use super::sign_in::known_device;
use super::totp;
use crate::web::frame::error::PageError;
use crate::web::frame::form_rejection::FormRejection;
use crate::web::frame::hashing::Applicant;
use crate::web::frame::hashing_share::HashingSubject;
use crate::web::frame::throttle::AttemptSubject;
use crate::web::frame::web_request::WebRequest;

/// True if this field holds the password of the account.
pub(super) async fn is_password(
    request: &WebRequest,
    account: &Account,
    field: &str,
) -> Result<bool, PageError> {
    // A session left open must not allow guessing the password.
    let subjects = [AttemptSubject::PasswordChange(account.id.0)];
    request.site.throttle.take(&subjects, request.elapsed())?;
    let hash = account.password_hash.clone();
    let typed = request.form.raw(field);
    let applicant = match account.role {
        Role::Admin => Applicant::Administrator,
        Role::User => Applicant::Known,
    };
    let hashing = &request.site.hashing;
    let verified = match hashing.enter(HashingSubject::Account(account.id.0)).await {
        Ok(_of_account) => hashing.verify(applicant, typed, Some(hash)).await,
        Err(refused) => Err(refused),
    };
    // A right password is not counted, nor one that could not be checked.
    if !matches!(verified, Ok(false)) {
        request.site.throttle.give_back(&subjects);
    }
    Ok(verified?)
}

/// The subject that wrong codes are counted by: a browser that has signed in to the account before
/// has a window of its own.
pub(super) fn code_subject(request: &WebRequest, account: &Account) -> AttemptSubject {
    match known_device(request, account) {
        Some(proof) => AttemptSubject::SignInCodeDevice(proof),
        None => AttemptSubject::SignInCode(account.id.0),
    }
}

/// Uses up the code in the field `code`, and in the same transaction the pending sign-in `closed`:
/// of two requests with one of them only the first passes. Returns why the code is not accepted.
pub(super) async fn use_code(
    request: &Arc<WebRequest>,
    account: &Account,
    second: SecondStep,
    closed: Option<[u8; 32]>,
) -> Result<Option<FormRejection>, PageError> {
    let id = account.id;
    let used = request.changing(move |request| async move {
        let service = &request.site.service;
        let key = service.sealing_key();
        let secret = key.and_then(|key| key.open(id, &second.secret));
        let typed = request.form.get("code");
        let Some(used) = totp::check(&second, secret.as_ref(), typed, request.now) else {
            return Ok(Some(match secret {
                Some(_) => FormRejection::WrongCode,
                None => FormRejection::SecretNotOpened,
            }));
        };
        let mut events = vec![StateEvent::UseCode(id, used)];
        events.extend(closed.map(StateEvent::CloseSession));
        let outcomes = service.engine.submit(events).await?;
        let is_used = outcomes.iter().all(|outcome| *outcome == Outcome::Done);
        Ok((!is_used).then_some(FormRejection::WrongCode))
    });
    used.await
}

/// Checks the code in the field `code`, if the signed-in account has a second step. Returns why it
/// is not accepted.
pub(super) async fn refuse_code(
    request: &Arc<WebRequest>,
    account: &Account,
) -> Result<Option<FormRejection>, PageError> {
    let accounts = request.accounts();
    let Some(second) = accounts.second_step(account.id) else {
        return Ok(None);
    };
    let subjects = [code_subject(request, account)];
    request.site.throttle.take(&subjects, request.elapsed())?;
    let refused = use_code(request, account, second, None).await?;
    if refused.is_none() {
        request.site.throttle.give_back(&subjects);
    }
    Ok(refused)
}
