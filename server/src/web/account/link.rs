//! One-time links: made by an administrator, used by whoever has them.

use std::sync::Arc;

use askama::Template;
use http::StatusCode;
use subcat_engine::{Account, AccountId, Change, LinkPurpose, Outcome, Role};

use super::one_time_links;
use super::sign_in::{AccountDraft, AccountFormPage, enter, new_password, pass};
use crate::auth::api_key_digest;
use crate::ops::{OperationError, OperationRejection, Operations};
use crate::service::Actor;
use crate::web::frame::answer::{self, PageResult};
use crate::web::frame::error::PageError;
use crate::web::frame::form_rejection::FormRejection;
use crate::web::frame::hashing::Applicant;
use crate::web::frame::notice::Notice;
use crate::web::frame::page_frame::Frame;
use crate::web::frame::web_request::WebRequest;

#[derive(Template)]
#[template(path = "account/admin_link.html")]
struct LinkPage {
    page: Frame,
    url: String,
    /// Address of the account whose password it sets; empty for an invitation.
    email: String,
}

/// `POST /admin/accounts`: an invitation, for a new account with the role in `role`; or with
/// `action=withdraw` the end of the link in `link`.
pub(crate) fn invite(request: &WebRequest) -> PageResult {
    let viewer = request.admin()?;
    if request.form.get("action") == "withdraw" {
        let actor = Actor::Account(&viewer.account.email);
        let operations = Operations::of_service(&request.site.service, actor);
        return match operations.withdraw_link(request.form.get("link")) {
            // Used or withdrawn meanwhile: it is what was wanted.
            Ok(_) | Err(OperationError::Rejected(OperationRejection::UnknownLink(_))) => {
                Ok(request.see_other_with("/admin/accounts", Notice::LinkWithdrawn))
            }
            Err(error) => Err(error.into()),
        };
    }
    let role = Role::parse(request.form.get("role")).ok_or(PageError::InvalidForm)?;
    link_page(request, LinkPurpose::Invitation(role), None)
}

/// `POST /admin/accounts/{number}/password-link`: a link by which the account gets a new password.
pub(crate) fn password_link(request: &WebRequest, number: &str) -> PageResult {
    request.admin()?;
    let id = AccountId(number.parse().map_err(|_| PageError::NotFound)?);
    let account = request.site.service.engine.accounts().get(id);
    let account = account.ok_or(PageError::NotFound)?;
    link_page(request, LinkPurpose::NewPassword(id), Some(&account))
}

/// Makes a link and shows it, this once.
fn link_page(request: &WebRequest, purpose: LinkPurpose, account: Option<&Account>) -> PageResult {
    let viewer = request.admin()?;
    // A reload of the answer, or a second click, sends the form again: it has made its link.
    let token = request.form.get("token");
    let Ok(claim) = request.site.form_tokens.claim(viewer.account.id, token) else {
        return Ok(request.see_other_with("/admin/accounts", Notice::LinkExists));
    };
    let (path, link) = one_time_links::make(purpose, viewer.account.id, request.effective_now);
    let actor = Actor::Account(&viewer.account.email);
    let issued = request
        .site
        .service
        .change(Change::IssueLink(link), actor)?;
    if !matches!(issued, Outcome::Link(_)) {
        // Not an administrator any more.
        return Err(PageError::Forbidden);
    }
    claim.finish_unnamed();
    let mut page = request.frame("/admin");
    // Switching the language would load the page again, without the link.
    page.is_switchable = false;
    let template = LinkPage {
        page,
        url: format!("{}{path}", request.base_url()),
        email: account.map_or(String::new(), |account| account.email.as_str().to_owned()),
    };
    answer::page(StatusCode::OK, &template)
}

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
    match purpose(request, token)? {
        Some(purpose) => answer::page(StatusCode::OK, &form(request, token, purpose)?),
        None => ended_page(request),
    }
}

fn form(
    request: &WebRequest,
    token: &str,
    purpose: LinkPurpose,
) -> Result<AccountFormPage, PageError> {
    let email = match purpose {
        LinkPurpose::Invitation(_) => None,
        LinkPurpose::NewPassword(id) => {
            let account = request.site.service.engine.accounts().get(id);
            let account = account.ok_or(PageError::NotFound)?;
            Some(account.email.as_str().to_owned())
        }
    };
    Ok(AccountFormPage::of_link(
        request,
        format!("/link/{token}"),
        email,
    ))
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
        Err(rejection) => return form(request, token, purpose)?.rejected(request, rejection),
    };
    let account = draft.hashed(request, Applicant::Known, role).await?;
    let link = api_key_digest(token);
    let email = account.email.clone();
    let outcome = request.blocking(move |request| {
        let accepted = Change::AcceptInvitation(link, account);
        let outcome = request
            .site
            .service
            .change(accepted, Actor::Account(&email));
        Ok(outcome?)
    });
    match outcome.await? {
        Outcome::Account(account) => enter(request, &account, "/keys").await,
        // The link stays valid.
        Outcome::EmailTaken => {
            let form = form(request, token, purpose)?;
            form.rejected(request, FormRejection::EmailTaken)
        }
        // Another request was first, or its time passed while the password was hashed.
        _ => ended_page(request),
    }
}

async fn set_password(request: &Arc<WebRequest>, token: &str, id: AccountId) -> PageResult {
    let account = request.site.service.engine.accounts().get(id);
    let account = account.ok_or(PageError::NotFound)?;
    let password = match new_password(request, "password", &account.email) {
        Ok(password) => password,
        Err(rejection) => {
            let form = form(request, token, LinkPurpose::NewPassword(id))?;
            return form.rejected(request, rejection);
        }
    };
    let hashing = &request.site.hashing;
    let hash = hashing.hash(Applicant::Known, password).await?;
    let link = api_key_digest(token);
    let changed = request.blocking(move |request| {
        let service = &request.site.service;
        let change = Change::SetPasswordByLink {
            link,
            account: id,
            hash,
        };
        if service.change(change, Actor::Account(&account.email))? != Outcome::Done {
            return Ok(None);
        }
        Ok(service.engine.accounts().get(id))
    });
    let Some(account) = changed.await? else {
        return ended_page(request);
    };
    // A disabled account has a new password, and still nobody may sign in.
    if account.disabled_at.is_some() {
        return Ok(answer::see_other("/signin"));
    }
    // The link stands for the password only.
    pass(request, &account, "").await
}
