//! One-time links: made by an administrator, used by whoever has them.

use std::sync::Arc;

use askama::Template;
use http::StatusCode;
use subcat_engine::{Account, AccountId, AuditEntry, Change, LinkPurpose, Role, StateEvent};

use super::one_time_links;
use super::sign_in::{AccountDraft, AccountFormPage, create_account, enter, new_password, pass};
use crate::service::Actor;
use crate::web::frame::answer::{self, PageResult};
use crate::web::frame::error::PageError;
use crate::web::frame::form_rejection::FormRejection;
use crate::web::frame::hashing::Applicant;
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

/// `POST /admin/accounts`: an invitation, for a new account with the role in `role`.
pub(crate) fn invite(request: &WebRequest) -> PageResult {
    request.admin()?;
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

/// Makes a link, notes it in the audit log, and shows it, this once.
fn link_page(request: &WebRequest, purpose: LinkPurpose, account: Option<&Account>) -> PageResult {
    let action = match purpose {
        LinkPurpose::Invitation(_) => "invitation created",
        LinkPurpose::NewPassword(_) => "password link created",
    };
    let entry = AuditEntry {
        at: request.now,
        actor: request.viewer()?.account.email.as_str().to_owned(),
        action: action.to_owned(),
        account: account.map(|account| account.id),
        api_key: None,
        detail: String::new(),
    };
    let (path, issued) = one_time_links::make(purpose, request.effective_now);
    let engine = &request.site.service.engine;
    engine.apply(vec![StateEvent::Audit(entry), issued])?;
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

/// `GET /link/{token}`: the form of a new account, or of a new password. The token is the only
/// protection, as of the setup link.
pub(crate) fn show(request: &WebRequest, token: &str) -> PageResult {
    answer::page(StatusCode::OK, &form(request, token)?)
}

fn form(request: &WebRequest, token: &str) -> Result<AccountFormPage, PageError> {
    let email = match purpose(request, token)? {
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

fn purpose(request: &WebRequest, token: &str) -> Result<LinkPurpose, PageError> {
    let engine = &request.site.service.engine;
    let purpose = one_time_links::purpose(engine, token, request.effective_now)?;
    purpose.ok_or(PageError::NotFound)
}

/// `POST /link/{token}`: creates the account, or sets the password, and signs in. A form that is
/// rejected leaves the link valid.
pub(crate) async fn follow(request: &Arc<WebRequest>, token: &str) -> PageResult {
    match purpose(request, token)? {
        LinkPurpose::Invitation(role) => accept(request, token, role).await,
        LinkPurpose::NewPassword(id) => set_password(request, token, id).await,
    }
}

async fn accept(request: &Arc<WebRequest>, token: &str, role: Role) -> PageResult {
    let draft = match AccountDraft::read(request) {
        Ok(draft) => draft,
        Err(rejection) => return form(request, token)?.rejected(request, rejection),
    };
    let accounts = request.site.service.engine.accounts();
    if accounts.by_email(draft.email()).is_some() {
        return form(request, token)?.rejected(request, FormRejection::EmailTaken);
    }
    let account = draft.hashed(request, Applicant::Known, role).await?;
    let token = token.to_owned();
    let account = request.blocking(move |request| {
        use_up(request, &token)?;
        create_account(request, account)?.ok_or(PageError::NotFound)
    });
    enter(request, &account.await?, "/keys").await
}

async fn set_password(request: &Arc<WebRequest>, token: &str, id: AccountId) -> PageResult {
    let account = request.site.service.engine.accounts().get(id);
    let account = account.ok_or(PageError::NotFound)?;
    let password = match new_password(request, "password", &account.email) {
        Ok(password) => password,
        Err(rejection) => return form(request, token)?.rejected(request, rejection),
    };
    let hashing = &request.site.hashing;
    let hash = hashing.hash(Applicant::Known, password).await?;
    let token = token.to_owned();
    let account = request.blocking(move |request| {
        use_up(request, &token)?;
        let changed = Change::SetPassword(id, hash);
        let service = &request.site.service;
        service.change(changed, Actor::Account(&account.email))?;
        service.engine.accounts().get(id).ok_or(PageError::NotFound)
    });
    let account = account.await?;
    // A disabled account has a new password, and still nobody may sign in.
    if account.disabled_at.is_some() {
        return Ok(answer::see_other("/signin"));
    }
    // The link stands for the password only.
    pass(request, &account, "").await
}

/// Uses the link up, now that all else is ready: of two requests with it only one gets on.
fn use_up(request: &WebRequest, token: &str) -> Result<(), PageError> {
    // Again, as its time may have passed while the password was hashed.
    purpose(request, token)?;
    if one_time_links::take(&request.site.service.engine, token)? {
        Ok(())
    } else {
        Err(PageError::NotFound)
    }
}
