//! One-time links as administrators make and withdraw them.

use askama::Template;
use http::StatusCode;
use subcat_engine::{Account, AccountId, Change, LinkPurpose, Outcome, Role};

use crate::ops::{OperationError, OperationRejection};
use crate::web::frame::answer::{self, PageResult};
use crate::web::frame::error::PageError;
use crate::web::frame::notice::Notice;
use crate::web::frame::one_time_links;
use crate::web::frame::page_frame::Frame;
use crate::web::frame::web_request::WebRequest;

#[derive(Template)]
#[template(path = "console/admin_link.html")]
struct LinkPage {
    page: Frame,
    url: String,
    /// Address of the account whose password it sets; empty for an invitation.
    email: String,
}

/// `POST /admin/accounts`: an invitation, for a new account with the role in `role`; or with
/// `action=withdraw` the end of the link in `link`.
pub(crate) async fn invite(request: &WebRequest) -> PageResult {
    request.admin()?;
    if request.form.get("action") == "withdraw" {
        let operations = request.operations()?;
        return match operations.withdraw_link(request.form.get("link")).await {
            // Used or withdrawn since: it is what was wanted.
            Ok(_) | Err(OperationError::Rejected(OperationRejection::UnknownLink(_))) => {
                Ok(request.see_other_with("/admin/accounts", Notice::LinkWithdrawn))
            }
            Err(error) => Err(error.into()),
        };
    }
    let role = Role::parse(request.form.get("role")).ok_or(PageError::InvalidForm)?;
    link_page(request, LinkPurpose::Invitation(role), None).await
}

/// `POST /admin/accounts/{number}/password-link`: a link by which the account gets a new password.
pub(crate) async fn password_link(request: &WebRequest, number: &str) -> PageResult {
    request.admin()?;
    let id = AccountId(number.parse().map_err(|_| PageError::NotFound)?);
    let account = request.accounts().get(id);
    let account = account.ok_or(PageError::NotFound)?;
    link_page(request, LinkPurpose::NewPassword(id), Some(&account)).await
}

/// Makes a link and shows it, this once.
async fn link_page(
    request: &WebRequest,
    purpose: LinkPurpose,
    account: Option<&Account>,
) -> PageResult {
    let viewer = request.admin()?;
    // A reload of the answer, or a second click, sends the form again: it has made its link.
    let token = request.form.get("token");
    let Ok(claim) = request.site.form_tokens.claim(viewer.account.id, token) else {
        return Ok(request.see_other_with("/admin/accounts", Notice::LinkExists));
    };
    let (path, link) = one_time_links::make(purpose, viewer.account.id, request.effective_now);
    let issued = request.change(Change::IssueLink(link)).await?;
    if !matches!(issued, Outcome::Link(_)) {
        // No longer an administrator.
        return Err(PageError::Forbidden);
    }
    claim.finish_unnamed();
    let template = LinkPage {
        page: request.frame_once("/admin"),
        url: format!("{}{path}", request.base_url()),
        email: account.map_or(String::new(), |account| account.email.as_str().to_owned()),
    };
    answer::page(StatusCode::OK, &template)
}
