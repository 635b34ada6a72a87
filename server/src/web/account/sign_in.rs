//! Setup of the first account, sign-up, sign-in, sign-out.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use askama::Template;
use http::StatusCode;
use http::header::RETRY_AFTER;
use subcat_engine::{
    Account, AccountId, AuditEntry, Change, DisplayName, Email, NewAccount, Role, StateEvent,
    error_chain,
};

use super::device;
use super::pending_sign_in;
use crate::limits::COUNTED_EMAIL_BYTES_MAX;
use crate::ops::{OperationError, OperationRejection, Operations};
use crate::runtime::WorkKind;
use crate::service::Actor;
use crate::web::frame::answer::{self, PageResult};
use crate::web::frame::error::PageError;
use crate::web::frame::form_rejection::{FormFault, FormRejection};
use crate::web::frame::hashing::Applicant;
use crate::web::frame::hashing_share::{HashingQueueError, HashingSubject};
use crate::web::frame::notice::Notice;
use crate::web::frame::page_frame::Frame;
use crate::web::frame::params::{self, Params};
use crate::web::frame::password::Password;
use crate::web::frame::session::{self, FAILED_SIGN_IN_ACTION, SignIn};
use crate::web::frame::throttle::{AttemptSubject, SignInAccount};
use crate::web::frame::web_request::WebRequest;

/// Cookie that carries the address from the sign-up to the sign-in, so that it is typed once.
const EMAIL_COOKIE: &str = "subcat-email";
/// Lifetime of that cookie.
const EMAIL_SECONDS: i64 = 600;

#[derive(Template)]
#[template(path = "account/account_form.html")]
pub(crate) struct AccountFormPage {
    page: Frame,
    /// Target path of the form.
    action: Cow<'static, str>,
    heading: &'static str,
    lead: &'static str,
    submit: &'static str,
    fault: FormFault,
    /// Token of the one-time link; empty except on `/setup`.
    token: String,
    /// Target path after the sign-in; empty for the default.
    next: String,
    email: String,
    name: String,
    /// True for the forms that create an account.
    is_new: bool,
    /// True if the address is that of an existing account, which gets a new password.
    is_address_fixed: bool,
}

impl AccountFormPage {
    fn sign_in(request: &WebRequest) -> Self {
        let next = next_of(request.query.get("next"));
        Self {
            page: request.frame("/signin"),
            action: "/signin".into(),
            heading: request.lang.t("Sign in", "Iniciar sesión"),
            lead: if next.is_empty() {
                ""
            } else {
                let texts = (
                    "The page that you asked for needs an account.",
                    "La página que has pedido requiere una cuenta.",
                );
                request.lang.t(texts.0, texts.1)
            },
            submit: request.lang.t("Sign in", "Iniciar sesión"),
            fault: FormFault::default(),
            token: String::new(),
            next,
            email: String::new(),
            name: String::new(),
            is_new: false,
            is_address_fixed: false,
        }
    }

    fn sign_up(request: &WebRequest) -> Self {
        Self {
            page: request.frame("/signup"),
            action: "/signup".into(),
            heading: request.lang.t("Create an account", "Crear una cuenta"),
            lead: request.lang.t(
                "With an account you can search the catalog and create API keys.",
                "Con una cuenta puedes buscar en el catálogo y crear claves de API.",
            ),
            submit: request.lang.t("Sign up", "Crear cuenta"),
            is_new: true,
            ..Self::sign_in(request)
        }
    }

    fn set_up(request: &WebRequest, token: &str) -> Self {
        Self {
            action: "/setup".into(),
            heading: request.lang.t("Welcome", "Te damos la bienvenida"),
            lead: request.lang.t(
                "Create the administrator account. This link works only once.",
                "Crea la cuenta de administrador. Este enlace solo funciona una vez.",
            ),
            submit: request.lang.t("Create account", "Crear cuenta"),
            token: token.to_owned(),
            ..Self::sign_up(request)
        }
    }

    /// The form of a one-time link: for a new account, or for a new password of this address.
    pub(crate) fn of_link(request: &WebRequest, action: String, email: Option<String>) -> Self {
        let lang = request.lang;
        let (heading, lead) = match &email {
            None => (
                lang.t("Create your account", "Crea tu cuenta"),
                lang.t(
                    "You have been invited. This link works only once.",
                    "Tienes una invitación. Este enlace solo funciona una vez.",
                ),
            ),
            Some(_) => (
                lang.t("New password", "Contraseña nueva"),
                lang.t(
                    "All sessions of the account end. This link works only once.",
                    "Se cerrarán todas las sesiones de la cuenta. El enlace funciona una sola vez.",
                ),
            ),
        };
        Self {
            action: action.into(),
            heading,
            lead,
            submit: match &email {
                None => lang.t("Create account", "Crear cuenta"),
                Some(_) => lang.t("Save password", "Guardar contraseña"),
            },
            is_address_fixed: email.is_some(),
            email: email.unwrap_or_default(),
            ..Self::sign_up(request)
        }
    }

    /// The address of a page that leads to `next` after the sign-in.
    fn with_next(&self, path: &str) -> String {
        if self.next.is_empty() {
            return path.to_owned();
        }
        format!("{path}?next={}", params::encode(&self.next))
    }

    /// The form again, with the reason and the values that were typed, except the password.
    pub(crate) fn rejected(mut self, request: &WebRequest, rejection: FormRejection) -> PageResult {
        let status = match rejection {
            FormRejection::TooManyAttempts => StatusCode::TOO_MANY_REQUESTS,
            _ => StatusCode::UNPROCESSABLE_ENTITY,
        };
        self.fault = rejection.fault("password", request.lang);
        if !self.is_address_fixed {
            request.form.get("email").clone_into(&mut self.email);
        }
        request.form.get("name").clone_into(&mut self.name);
        self.next = next_of(request.form.get("next"));
        // The links of the page lead to the form, with what its address needs.
        let kept = Params::of(&[("next", &self.next), ("token", &self.token)]);
        self.page = self.page.at(&self.action, &kept);
        answer::page(status, &self)
    }
}

/// `GET /signin`. With a session, redirects to the page that a sign-in would lead to.
pub(crate) fn show_sign_in(request: &WebRequest) -> PageResult {
    let next = request.query.get("next");
    if request.viewer.is_some() {
        return Ok(answer::see_other(&landing(next)));
    }
    if request.is_from_elsewhere() && !next.is_empty() {
        return check_again(request, next);
    }
    let mut form = AccountFormPage::sign_in(request);
    let email = session::cookie(&request.headers, EMAIL_COOKIE).unwrap_or("");
    form.email = percent_encoding::percent_decode_str(email)
        .decode_utf8_lossy()
        .into_owned();
    answer::page(StatusCode::OK, &form)
}

#[derive(Template)]
#[template(path = "account/sign_in_check.html")]
struct CheckPage {
    page: Frame,
    /// Address of the sign-in page.
    again: String,
}

/// A page that leads on to the sign-in page. The browser leaves the session cookie out of a request
/// that another site caused, so that a signed-in user looks like one who is not. The request of our
/// own page brings the cookie along.
fn check_again(request: &WebRequest, next: &str) -> PageResult {
    let template = CheckPage {
        page: request.frame("/signin"),
        again: format!("/signin?next={}", params::encode(&next_of(next))),
    };
    answer::page(StatusCode::OK, &template)
}

/// `POST /signin`.
///
/// An unknown address, a disabled account and a wrong password get the same answer after the same
/// work.
pub(crate) async fn sign_in(request: &Arc<WebRequest>) -> PageResult {
    let typed_email = request.form.get("email");
    let engine = &request.site.service.engine;
    let account = Email::parse(typed_email).and_then(|email| engine.accounts().by_email(&email));
    let subjects = sign_in_subjects(request, typed_email, account.as_ref());
    if let Err(rejection) = request.site.throttle.take(&subjects, request.elapsed()) {
        if let (Some(_), Some(account)) = (&rejection.newly_exhausted, account) {
            record_lock(request, account.id);
        }
        tracing::warn!(address = %request.peer, "a sign-in was rejected: too many tries");
        let form = AccountFormPage::sign_in(request);
        let mut response = form.rejected(request, FormRejection::TooManyAttempts)?;
        let seconds = rejection.retry_after_seconds;
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
        return Ok(response);
    }
    let right: Vec<AttemptSubject> = account
        .iter()
        .map(|account| AttemptSubject::SignInRight(account.id.0))
        .collect();
    let verified = verify(request, account.as_ref(), &subjects).await;
    if verified.is_err() {
        // Nothing was tried: a flood that keeps the server busy must not cost others their tries.
        request.site.throttle.give_back(&subjects);
    }
    if !matches!(verified, Ok(true)) {
        request.site.throttle.give_back(&right);
    }
    let is_right = verified?;
    let is_enabled = |account: &Account| account.disabled_at.is_none();
    // Not the typed text: people type their password into the field of the address, too.
    let known = account.as_ref().map(|account| account.id.0);
    let Some(account) = account.filter(is_enabled).filter(|_| is_right) else {
        tracing::warn!(account = known, address = %request.peer, "a sign-in failed");
        if let Some(id) = known {
            record_failure(request, AccountId(id));
        }
        let form = AccountFormPage::sign_in(request);
        return form.rejected(request, FormRejection::WrongCredentials);
    };
    // A right password counts for its own subject only.
    let tries: Vec<_> = subjects
        .iter()
        .filter(|it| !right.contains(it))
        .cloned()
        .collect();
    request.site.throttle.give_back(&tries);
    pass(request, &account, &next_of(request.form.get("next"))).await
}

/// Verifies the password of a sign-in when its account and its network have room in the queue.
///
/// It is verified even without an account or for a disabled one: the time must not reveal that.
async fn verify(
    request: &WebRequest,
    account: Option<&Account>,
    subjects: &[AttemptSubject],
) -> Result<bool, HashingQueueError> {
    let is_known = subjects
        .iter()
        .any(|subject| matches!(subject, AttemptSubject::SignInDevice(_)));
    let is_administrator = account.is_some_and(|account| account.role == Role::Admin);
    let applicant = match (is_known, is_administrator) {
        (true, true) => Applicant::Administrator,
        (true, false) => Applicant::Known,
        (false, _) => Applicant::Unknown,
    };
    let hashing = &request.site.hashing;
    let mut places = Vec::new();
    if let Some(account) = account {
        let id = account.id.0;
        let subject = match applicant {
            Applicant::Unknown => HashingSubject::AccountOfOutsider(id),
            Applicant::Known | Applicant::Administrator => HashingSubject::Account(id),
        };
        places.push(hashing.enter(subject).await?);
    }
    // Known browsers are bounded by their account.
    if applicant == Applicant::Unknown {
        let network = HashingSubject::Network(request.peer);
        places.push(hashing.enter(network).await?);
    }
    let stored = account.map(|account| account.password_hash.clone());
    let password = request.form.raw("password");
    hashing.verify(applicant, password, stored).await
}

/// Continues after the right password, with the second step of the account, if it has one.
pub(crate) async fn pass(request: &WebRequest, account: &Account, next: &str) -> PageResult {
    let service = &request.site.service;
    if service.engine.accounts().second_step(account.id).is_none() {
        return enter(request, account, &landing(next)).await;
    }
    let (opened, cookie) = pending_sign_in::open(account, request.effective_now, request.is_secure);
    let pending = SignIn {
        account: account.id,
        event: opened,
        replaced: None,
    };
    store(request, pending).await?;
    let location = match next {
        "" => "/signin/code".to_owned(),
        next => format!("/signin/code?next={}", params::encode(next)),
    };
    Ok(answer::with_cookie(answer::see_other(&location), cookie))
}

/// Records in the audit log that a sign-in to an account has failed, together with other sign-ins:
/// a flood of tries makes no transaction for each. The answer does not wait for it, as its time
/// must not reveal whether the account exists.
fn record_failure(request: &Arc<WebRequest>, account: AccountId) {
    let line = AuditEntry {
        detail: request.device(),
        ..sign_in_line(request, account, FAILED_SIGN_IN_ACTION)
    };
    let failed = SignIn {
        account,
        event: StateEvent::AuditSignIn(line),
        replaced: None,
    };
    let request = Arc::clone(request);
    let control = request.site.service.control.clone();
    control.clone().spawn(async move {
        if let Err(error) = store(&request, failed).await {
            let error = error_chain(&error);
            tracing::error!(
                error,
                "a failed sign-in could not be recorded in the audit log"
            );
        }
    });
}

/// A line of the audit log about sign-ins to an account.
fn sign_in_line(request: &WebRequest, account: AccountId, action: &str) -> AuditEntry {
    AuditEntry {
        at: request.now,
        actor: request.peer.to_string(),
        action: action.to_owned(),
        account: Some(account),
        api_key: None,
        detail: String::new(),
    }
}

/// Records in the audit log that sign-ins of an account are locked, once in each window. The answer
/// does not wait for it: its time must not reveal whether the account exists.
fn record_lock(request: &Arc<WebRequest>, account: AccountId) {
    let request = Arc::clone(request);
    let control = request.site.service.control.clone();
    let handle = control.clone();
    let storing = async move {
        if let Err(error) = store_lock(&request, account).await {
            let error = error_chain(&error);
            tracing::error!(
                error,
                "a locked sign-in could not be recorded in the audit log"
            );
        }
    };
    // A panic is in the log.
    control.spawn(async move { handle.run_waiting(WorkKind::Changes, storing).await });
}

async fn store_lock(request: &WebRequest, account: AccountId) -> subcat_engine::Result<()> {
    let line = sign_in_line(request, account, "sign-in locked");
    let engine = &request.site.service.engine;
    engine.submit(vec![StateEvent::AuditSignIn(line)]).await?;
    Ok(())
}

/// The subjects that a sign-in is counted by. A browser that has signed in to the account before is
/// counted by itself alone: whatever outsiders do, its owner can sign in.
fn sign_in_subjects(
    request: &WebRequest,
    typed_email: &str,
    account: Option<&Account>,
) -> Vec<AttemptSubject> {
    let counted = match account {
        Some(account) => {
            if let Some(proof) = known_device(request, account) {
                let right = AttemptSubject::SignInRight(account.id.0);
                return vec![AttemptSubject::SignInDevice(proof), right];
            }
            let mut hasher = DefaultHasher::new();
            account.password_hash.hash(&mut hasher);
            SignInAccount::Known(account.id.0, hasher.finish())
        }
        None => {
            let mut email = typed_email.to_lowercase();
            email.truncate(email.floor_char_boundary(COUNTED_EMAIL_BYTES_MAX));
            SignInAccount::Unknown(email)
        }
    };
    let mut subjects = vec![
        AttemptSubject::SignInPair(counted.clone(), request.peer),
        AttemptSubject::SignInAccount(counted),
        AttemptSubject::SignInAddress(request.peer),
    ];
    subjects.extend(account.map(|account| AttemptSubject::SignInRight(account.id.0)));
    subjects
}

/// Opens a new session and closes the one that the browser had, so that a session cookie planted
/// before the sign-in is worthless after it.
pub(crate) async fn enter(request: &WebRequest, account: &Account, location: &str) -> PageResult {
    let service = &request.site.service;
    let hash = account.password_hash.clone();
    let (now, is_secure) = (request.effective_now, request.is_secure);
    let (opened, cookie) = session::open(account.id, hash, now, request.device(), is_secure);
    let sign_in = SignIn {
        account: account.id,
        event: opened,
        replaced: request.viewer.as_ref().map(|viewer| viewer.session_digest),
    };
    store(request, sign_in).await?;
    tracing::info!(account = account.id.0, address = %request.peer, "signed in");
    let response = answer::with_cookie(answer::see_other(location), cookie);
    let Some(key) = service.sealing_key() else {
        return Ok(response);
    };
    let known = device::remember(key, account, now, is_secure);
    Ok(answer::with_cookie(response, known))
}

/// Stores a sign-in, together with others.
async fn store(request: &WebRequest, sign_in: SignIn) -> Result<(), PageError> {
    let (site, control) = (&request.site, &request.site.service.control);
    match site.sign_ins.submit(control, sign_in).await {
        Some(Ok(true)) => Ok(()),
        // The password was changed, or the account disabled, while the password was verified.
        Some(Ok(false)) => Err(PageError::NotSignedIn),
        Some(Err(error)) => Err(error.into()),
        None => Err(PageError::SignInLost),
    }
}

/// The proof that the browser has signed in to `account` before, if it has one.
pub(super) fn known_device(request: &WebRequest, account: &Account) -> Option<[u8; 32]> {
    let (now, is_secure) = (request.effective_now, request.is_secure);
    let key = request.site.service.sealing_key()?;
    device::known(key, &request.headers, account, now, is_secure)
}

/// `GET /signup`: 404 if registration is closed.
pub(crate) fn show_sign_up(request: &WebRequest) -> PageResult {
    if request.viewer.is_some() {
        return Ok(answer::see_other("/keys"));
    }
    if !request.is_registration_open() {
        return Err(PageError::NotFound);
    }
    answer::page(StatusCode::OK, &AccountFormPage::sign_up(request))
}

/// `POST /signup`.
///
/// The work and the answer are the same for a free address and a taken one, so that the answer does
/// not reveal which addresses have accounts. For the same reason it does not sign in.
pub(crate) async fn sign_up(request: &Arc<WebRequest>) -> PageResult {
    if !request.is_registration_open() {
        return Err(PageError::NotFound);
    }
    let draft = match AccountDraft::read(request) {
        Ok(draft) => draft,
        Err(rejection) => {
            let form = AccountFormPage::sign_up(request);
            return form.rejected(request, rejection);
        }
    };
    let subjects = [AttemptSubject::SignUpAddress(request.peer)];
    request.site.throttle.take(&subjects, request.elapsed())?;
    let hashed = draft.hashed(request, Applicant::Unknown, Role::User).await;
    if hashed.is_err() {
        request.site.throttle.give_back(&subjects);
    }
    let account = hashed?;
    request
        .changing(move |request| async move {
            create_account(&request, account).await?;
            let mut sign_in = AccountFormPage::sign_in(&request);
            sign_in.next = next_of(request.form.get("next"));
            let location = sign_in.with_next("/signin");
            let response = request.see_other_with(&location, Notice::SignedUp);
            let email = params::encode(request.form.get("email"));
            let cookie =
                session::set_cookie(EMAIL_COOKIE, &email, EMAIL_SECONDS, request.is_secure);
            Ok(answer::with_cookie(response, cookie))
        })
        .await
}

/// `GET /setup`: the form of the first account. The token of the link is the only protection.
pub(crate) fn show_set_up(request: &WebRequest) -> PageResult {
    let token = request.query.get("token");
    if !request.site.setup.is_token(token) || !request.site.is_first_start() {
        return Err(PageError::NotFound);
    }
    answer::page(StatusCode::OK, &AccountFormPage::set_up(request, token))
}

/// `POST /setup`: creates the first account and signs it in.
pub(crate) async fn set_up(request: &Arc<WebRequest>) -> PageResult {
    let token = request.form.get("token");
    if !request.site.setup.is_token(token) || !request.site.is_first_start() {
        return Err(PageError::NotFound);
    }
    let draft = match AccountDraft::read(request) {
        Ok(draft) => draft,
        Err(rejection) => {
            let form = AccountFormPage::set_up(request, token);
            return form.rejected(request, rejection);
        }
    };
    let account = draft.hashed(request, Applicant::Known, Role::Admin).await?;
    let account = request.changing(move |request| async move {
        let _turn = request.site.setup.lock.lock().await;
        // Again, now under the lock: hashing took a while, and another request may have been first.
        if !request.site.is_first_start() {
            return Err(PageError::NotFound);
        }
        let created = create_account(&request, account).await?;
        created.ok_or(PageError::NotFound)
    });
    enter(request, &account.await?, "/admin").await
}

/// `POST /signout`: closes this session, or with `everywhere` every session of the account.
pub(crate) async fn sign_out(request: &WebRequest) -> PageResult {
    let is_everywhere = request.form.has("everywhere");
    if let Some(viewer) = &request.viewer {
        if is_everywhere {
            let closed = Change::CloseSessions(viewer.account.id);
            request.change(closed).await?;
        } else {
            let closed = StateEvent::CloseSession(viewer.session_digest);
            request.site.service.engine.submit(vec![closed]).await?;
        }
    }
    let notice = if is_everywhere {
        Notice::SignedOutEverywhere
    } else {
        Notice::SignedOut
    };
    Ok(request.signed_out(notice))
}

/// A new account from the fields of its form.
pub(crate) struct AccountDraft {
    email: Email,
    name: String,
    password: Password,
}

impl AccountDraft {
    pub(crate) fn read(request: &WebRequest) -> Result<Self, FormRejection> {
        let email = Email::parse(request.form.get("email"));
        let email = email.ok_or(FormRejection::InvalidEmail)?;
        Ok(Self {
            name: display_name(request)?,
            password: new_password(request, "password", &email)?,
            email,
        })
    }

    /// The account with its password hashed.
    pub(crate) async fn hashed(
        self,
        request: &WebRequest,
        applicant: Applicant,
        role: Role,
    ) -> Result<NewAccount, PageError> {
        let hashing = &request.site.hashing;
        Ok(NewAccount {
            email: self.email,
            display_name: self.name,
            role,
            password_hash: hashing.hash(applicant, self.password).await?,
        })
    }
}

/// The display name in the field `name`: one short line, or empty.
pub(crate) fn display_name(request: &WebRequest) -> Result<String, FormRejection> {
    let name = DisplayName::parse(request.form.get("name"));
    let name = name.ok_or(FormRejection::InvalidDisplayName)?;
    Ok(name.into_string())
}

/// The new password, of the account with this address, in the field `field`.
pub(crate) fn new_password(
    request: &WebRequest,
    field: &str,
    email: &Email,
) -> Result<Password, FormRejection> {
    Ok(Password::parse_for(
        request.form.raw(field),
        email.as_str(),
    )?)
}

/// Creates an account; `None` if its address is taken.
pub(crate) async fn create_account(
    request: &WebRequest,
    account: NewAccount,
) -> Result<Option<Account>, PageError> {
    let email = account.email.clone();
    let operations = Operations::of_service(&request.site.service, Actor::Account(&email));
    match operations.create_account(account).await {
        Ok(account) => Ok(Some(account)),
        Err(OperationError::Rejected(OperationRejection::EmailTaken(_))) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The page that a sign-in leads to: `next`, or the list of API keys.
pub(crate) fn landing(next: &str) -> String {
    match next_of(next) {
        next if next.is_empty() => "/keys".to_owned(),
        next => next,
    }
}

/// `next` if it is a path on this site, otherwise empty: a link to the sign-in page must not lead
/// to another site.
pub(crate) fn next_of(next: &str) -> String {
    let is_path = next.starts_with('/') && !next.starts_with("//") && !next.contains('\\');
    let is_printable = next.bytes().all(|byte| (0x21..0x7F).contains(&byte));
    if is_path && is_printable {
        next.to_owned()
    } else {
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(next: &str, expected: &str) {
        assert_eq!(landing(next), expected, "{next}");
    }

    #[test]
    fn a_sign_in_leads_only_to_this_site() {
        check("/catalog?query=a%20b", "/catalog?query=a%20b");
        check("", "/keys");
        check("//evil.example", "/keys");
        check("/\\evil.example", "/keys");
        check("https://evil.example", "/keys");
        check("/a\r\nSet-Cookie: x=y", "/keys");
    }
}
