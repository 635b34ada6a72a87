//! Operations on one-time links: list and withdraw them.

use serde::{Deserialize, Serialize};
use subcat_engine::{Account, AccountId, Change, LinkPurpose, OneTimeLink, Role};

use super::error::{OperationError, OperationRejection};
use super::operation::{Operation, OperationEntry, Operations};

pub(super) const OPERATIONS: &[OperationEntry] = &[
    OperationEntry::of::<ListLinks>(),
    OperationEntry::of::<WithdrawLink>(),
];

impl Operations<'_> {
    /// The links that are valid, the next to end first.
    pub fn links(&self) -> Result<Vec<OneTimeLink>, OperationError> {
        let mut links = self.engine.accounts().links()?;
        links.retain(|link| !link.is_expired(self.effective_now) && self.has_issuer(link));
        links.sort_by_key(|link| (link.expires_at, link.digest));
        Ok(links)
    }

    /// Returns true while the maker of a link is an enabled administrator, with a second step where
    /// administrators need one.
    pub fn has_issuer(&self, link: &OneTimeLink) -> bool {
        let accounts = self.engine.accounts();
        let is_step_required = self.config.accounts.is_admin_totp_required;
        let is_administrator = |account: &Account| {
            account.role == Role::Admin
                && account.disabled_at.is_none()
                && (!is_step_required || accounts.second_step(account.id).is_some())
        };
        let issuer = link.issuer.and_then(|id| accounts.get(id));
        issuer.as_ref().is_some_and(is_administrator)
    }

    /// Ends a link, by the id that lists show.
    ///
    /// Errors: [`OperationRejection::UnknownLink`].
    pub async fn withdraw_link(&self, id: &str) -> Result<OneTimeLink, OperationError> {
        let links = self.engine.accounts().links()?;
        let Some(link) = links.into_iter().find(|link| link_id(link) == id) else {
            return Err(OperationRejection::UnknownLink(id.to_owned()).into());
        };
        self.change(Change::WithdrawLink(link.digest)).await?;
        Ok(link)
    }

    fn address_of(&self, id: Option<AccountId>) -> Option<String> {
        let account = id.and_then(|id| self.engine.accounts().get(id))?;
        Some(account.email.as_str().to_owned())
    }

    fn link_listed(&self, link: &OneTimeLink) -> LinkListed {
        let (purpose, role) = match link.purpose {
            LinkPurpose::Invitation(role) => ("invitation", Some(role.as_str().to_owned())),
            LinkPurpose::NewPassword(_) => ("password", None),
        };
        LinkListed {
            id: link_id(link),
            purpose: purpose.to_owned(),
            role,
            account: self.address_of(link.account()),
            maker: self.address_of(link.issuer),
            expires_at: link.expires_at.to_string(),
        }
    }
}

/// Id of a link, which does not open it: the beginning of the digest of its token.
pub fn link_id(link: &OneTimeLink) -> String {
    let digits = link.digest[..8].iter().map(|byte| format!("{byte:02x}"));
    digits.collect()
}

/// One link as `account links` shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkListed {
    /// Id of the link.
    pub id: String,
    /// `invitation` or `password`.
    pub purpose: String,
    /// Role of the account that it makes, or null.
    pub role: Option<String>,
    /// Address of the account that the link sets the password of, or null.
    pub account: Option<String>,
    /// Address of the administrator who made the link, or null.
    pub maker: Option<String>,
    /// First second at which it is no longer valid.
    pub expires_at: String,
}

/// `account links`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListLinks {}

impl Operation for ListLinks {
    const NAME: &'static str = "link/list";
    type Answer = Vec<LinkListed>;

    async fn execute(self, operations: &Operations<'_>) -> Result<Self::Answer, OperationError> {
        let links = operations.links()?;
        let listed = links.iter().map(|link| operations.link_listed(link));
        Ok(listed.collect())
    }
}

/// `account links withdraw ID`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WithdrawLink {
    /// Id of the link in the list.
    pub id: String,
}

impl Operation for WithdrawLink {
    const NAME: &'static str = "link/withdraw";
    type Answer = LinkListed;

    async fn execute(self, operations: &Operations<'_>) -> Result<LinkListed, OperationError> {
        let link = operations.withdraw_link(&self.id).await?;
        Ok(operations.link_listed(&link))
    }
}
