//! Use of one-time links.

use std::sync::Arc;

use askama::Template;
use http::StatusCode;
use subcat_engine::{AccountId, Change, LinkPurpose, Outcome, Role};

use super::sign_in::{AccountDraft, AccountFormPage, enter, new_password, pass};
use crate::auth::api_key_digest;
use crate::ops::Operations;
use crate::service::Actor;
use crate::web::frame::answer::{self, PageResult};
use crate::web::frame::error::PageError;
use crate::web::frame::form_rejection::FormRejection;
use crate::web::frame::hashing::Applicant;
use crate::web::frame::one_time_links;
use crate::web::frame::page_frame::Frame;
use crate::web::frame::web_request::WebRequest;

#[derive(Template)]
#[template(path = "account/link_ended.html")]
struct EndedPage {
    page: Frame,
}

/// The page of a link that was used, has ended, or was withdrawn: it looks alike for all of them,
/// and for one that never was.
fn ended_page(request: &WebRequest) -> PageResult {
    let page = request.frame("/signin");
    answer::page(StatusCode::GONE, &EndedPage { page })
}

/// `GET /link/{token}`: the form of a new account, or of a new password. The token is the only
/// protection, as of the setup link.
pub(crate) fn show(request: &WebRequest, token: &str) -> PageResult {
    let purpose = purpose(request, token)?;
    match purpose.and_then(|purpose| form(request, token, purpose)) {
        Some(form) => answer::page(StatusCode::OK, &form),
        None => ended_page(request),
    }
}

/// The form of a link; `None` if its account was deleted since the link was looked up.
fn form(request: &WebRequest, token: &str, purpose: LinkPurpose) -> Option<AccountFormPage> {
    let email = match purpose {
        LinkPurpose::Invitation(_) => None,
        LinkPurpose::NewPassword(id) => {
            let account = request.accounts().get(id)?;
            Some(account.email.as_str().to_owned())
        }
    };
    let action = format!("/link/{token}");
    Some(AccountFormPage::of_link(request, action, email))
}

/// The form again, with the reason.
fn rejected(
    request: &WebRequest,
    token: &str,
    purpose: LinkPurpose,
    rejection: FormRejection,
) -> PageResult {
    match form(request, token, purpose) {
        Some(form) => form.rejected(request, rejection),
        None => ended_page(request),
    }
}

/// Purpose of a link that is valid.
fn purpose(request: &WebRequest, token: &str) -> Result<Option<LinkPurpose>, PageError> {
    if !one_time_links::is_token(token) {
        return Err(PageError::NotFound);
    }
    let operations = Operations::of_service(&request.site.service, Actor::CommandLine);
    let link = one_time_links::find(&operations, token)?;
    Ok(link.map(|link| link.purpose))
}

/// `POST /link/{token}`: creates the account, or sets the password, and signs in. A form that is
/// rejected leaves the link valid.
pub(crate) async fn follow(request: &Arc<WebRequest>, token: &str) -> PageResult {
    match purpose(request, token)? {
        Some(LinkPurpose::Invitation(role)) => accept(request, token, role).await,
        Some(LinkPurpose::NewPassword(id)) => set_password(request, token, id).await,
        None => ended_page(request),
    }
}

async fn accept(request: &Arc<WebRequest>, token: &str, role: Role) -> PageResult {
    let purpose = LinkPurpose::Invitation(role);
    let draft = match AccountDraft::read(request) {
        Ok(draft) => draft,
        Err(rejection) => return rejected(request, token, purpose, rejection),
    };
    let account = draft.hashed(request, Applicant::Known, role).await?;
    let link = api_key_digest(token);
    let email = account.email.clone();
    let outcome = request.changing(move |request| async move {
        let accepted = Change::AcceptInvitation(link, account);
        let service = &request.site.service;
        Ok(service.change(accepted, Actor::Account(&email)).await?)
    });
    match outcome.await? {
        Outcome::Account(account) => enter(request, &account, "/keys").await,
        // The link stays valid.
        Outcome::EmailTaken => rejected(request, token, purpose, FormRejection::EmailTaken),
        // Another request was first, or its time passed while the password was hashed.
        _ => ended_page(request),
    }
}

async fn set_password(request: &Arc<WebRequest>, token: &str, id: AccountId) -> PageResult {
    let Some(account) = request.accounts().get(id) else {
        return ended_page(request);
    };
    let password = match new_password(request, "password", &account.email) {
        Ok(password) => password,
        Err(rejection) => return rejected(request, token, LinkPurpose::NewPassword(id), rejection),
    };
    let hashing = &request.site.hashing;
    let hash = hashing.hash(Applicant::Known, password).await?;
    let link = api_key_digest(token);
    let changed = request.changing(move |request| async move {
        let service = &request.site.service;
        let change = Change::SetPasswordByLink {
            link,
            account: id,
            hash,
        };
        let actor = Actor::Account(&account.email);
        if service.change(change, actor).await? != Outcome::Done {
            return Ok(None);
        }
        Ok(service.engine.accounts().get(id))
    });
    let Some(account) = changed.await? else {
        return ended_page(request);
    };
    // A disabled account has a new password, and still may not sign in.
    if account.disabled_at.is_some() {
        return Ok(answer::see_other("/signin"));
    }
    // The link replaces the password only.
    pass(request, &account, "").await
}
