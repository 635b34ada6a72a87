//! In and out: the first account, sign-up, sign-in, sign-out.

use std::sync::Arc;

use askama::Template;
use http::header::{RETRY_AFTER, SET_COOKIE};
use http::{HeaderValue, StatusCode};
use subcat_engine::event::{Change, NewAccount, Outcome, StateEvent};
use subcat_engine::model::{Account, AuditEntry, Email, Role};

use crate::web::answer::{self, PageResult, Refusal};
use crate::web::frame::Frame;
use crate::web::hashing::Busy;
use crate::web::password::{Password, PasswordFault};
use crate::web::session::{self, SignIn};
use crate::web::throttle::Subject;
use crate::web::visit::Visit;

/// Characters of a display name, at most.
pub(super) const NAME_CHARS_MAX: usize = 80;
/// Bytes of an address that are counted by the throttle: longer ones have no account anyway.
const COUNTED_EMAIL_BYTES_MAX: usize = 254;

#[derive(Template)]
#[template(path = "entry.html")]
struct EntryPage {
    page: Frame,
    action: &'static str,
    heading: &'static str,
    lead: &'static str,
    submit: &'static str,
    notice: &'static str,
    fault: &'static str,
    token: String,
    next: String,
    email: String,
    name: String,
    is_new: bool,
}

/// What is wrong with a form, in the language of the visit.
type Fault = &'static str;

impl From<Busy> for Refusal {
    fn from(_: Busy) -> Self {
        Self::Busy
    }
}

impl EntryPage {
    fn sign_in(visit: &Visit) -> Self {
        let notice = match visit.query.get("notice") {
            "signed-up" => visit.lang.t(
                "If this address had no account yet, it has one now: sign in.",
                "Si esta dirección aún no tenía cuenta, ya la tiene: entra.",
            ),
            "signed-out" => visit.lang.t("You are signed out.", "Has salido."),
            "signed-out-everywhere" => visit.lang.t(
                "Every session of your account is closed.",
                "Se han cerrado todas las sesiones de tu cuenta.",
            ),
            _ => "",
        };
        Self {
            page: visit.frame("/signin"),
            action: "/signin",
            heading: visit.lang.t("Sign in", "Entrar"),
            lead: "",
            submit: visit.lang.t("Sign in", "Entrar"),
            notice,
            fault: "",
            token: String::new(),
            next: next_of(visit.query.get("next")),
            email: String::new(),
            name: String::new(),
            is_new: false,
        }
    }

    fn sign_up(visit: &Visit) -> Self {
        Self {
            page: visit.frame("/signup"),
            action: "/signup",
            heading: visit.lang.t("Make an account", "Crear una cuenta"),
            lead: visit.lang.t(
                "To search the catalog and make API keys.",
                "Para buscar en el catálogo y crear claves API.",
            ),
            submit: visit.lang.t("Sign up", "Crear cuenta"),
            notice: "",
            is_new: true,
            ..Self::sign_in(visit)
        }
    }

    fn set_up(visit: &Visit, token: &str) -> Self {
        Self {
            action: "/setup",
            heading: visit.lang.t("Welcome", "Te damos la bienvenida"),
            lead: visit.lang.t(
                "Make the administrator's account. This link works once.",
                "Crea la cuenta de administrador. Este enlace solo funciona una vez.",
            ),
            submit: visit.lang.t("Make the account", "Crear la cuenta"),
            token: token.to_owned(),
            ..Self::sign_up(visit)
        }
    }

    /// The form again, with what was typed (never the password) and what is wrong with it.
    fn refused(mut self, visit: &Visit, status: StatusCode, fault: Fault) -> PageResult {
        self.fault = fault;
        self.notice = "";
        visit.form.get("email").clone_into(&mut self.email);
        visit.form.get("name").clone_into(&mut self.name);
        self.next = next_of(visit.form.get("next"));
        answer::page(status, &self)
    }
}

/// `GET /signin`. Who is signed in already goes where the page would lead.
pub(crate) fn show_sign_in(visit: &Visit) -> PageResult {
    if visit.viewer.is_some() {
        return Ok(answer::see_other(&landing(visit.query.get("next"))));
    }
    answer::page(StatusCode::OK, &EntryPage::sign_in(visit))
}

/// `POST /signin`.
///
/// An unknown address, a disabled account and a wrong password get the same answer after the same
/// work.
pub(crate) async fn sign_in(visit: &Arc<Visit>) -> PageResult {
    let typed_email = visit.form.get("email");
    let subjects = sign_in_subjects(visit, typed_email);
    if let Err(too_many) = visit.site.throttle.take(&subjects, visit.elapsed()) {
        if let Some(Subject::SignInAccount(email)) = too_many.newly_shut {
            tell_lock(visit, email);
        }
        let fault = visit.lang.t(
            "Too many attempts. Wait some minutes, then try again.",
            "Demasiados intentos. Espera unos minutos y prueba de nuevo.",
        );
        let form = EntryPage::sign_in(visit);
        let mut response = form.refused(visit, StatusCode::TOO_MANY_REQUESTS, fault)?;
        let seconds = HeaderValue::from(too_many.retry_after_seconds);
        response.headers_mut().insert(RETRY_AFTER, seconds);
        return Ok(response);
    }
    let engine = &visit.site.service.engine;
    let account = Email::parse(typed_email).and_then(|email| engine.account_by_email(&email));
    let stored = account
        .as_ref()
        .map(|account| account.password_hash.clone());
    let password = visit.form.raw("password");
    let is_right = visit.site.hashing.verify(password, stored).await?;
    let is_enabled = |account: &Account| account.disabled_at.is_none();
    let Some(account) = account.filter(is_enabled).filter(|_| is_right) else {
        let fault = visit.lang.t(
            "The e-mail address or the password is not right.",
            "El correo o la contraseña no son correctos.",
        );
        let form = EntryPage::sign_in(visit);
        return form.refused(visit, StatusCode::UNPROCESSABLE_ENTITY, fault);
    };
    visit.site.throttle.give_back(&subjects);
    enter(visit, &account, &landing(visit.form.get("next"))).await
}

/// Tells the audit log that an account takes no sign-ins for a while: once in each window. The
/// answer does not wait for it: its time must not tell whether there is such an account.
fn tell_lock(visit: &Arc<Visit>, email: String) {
    let visit = Arc::clone(visit);
    let control = visit.site.service.control.clone();
    drop(control.spawn_blocking(move || {
        if let Err(error) = store_lock(&visit, &email) {
            tracing::error!(%error, "the audit log was not told of a locked sign-in");
        }
    }));
}

fn store_lock(visit: &Visit, email: &str) -> subcat_engine::Result<()> {
    let engine = &visit.site.service.engine;
    let account = Email::parse(email).and_then(|email| engine.account_by_email(&email));
    let Some(account) = account else {
        return Ok(());
    };
    let line = AuditEntry {
        at: visit.now,
        actor: visit.peer.to_string(),
        action: "sign-in locked".to_owned(),
        account: Some(account.id),
        api_key: None,
        detail: String::new(),
    };
    engine.apply(vec![StateEvent::Audit(line)])?;
    Ok(())
}

fn sign_in_subjects(visit: &Visit, typed_email: &str) -> [Subject; 2] {
    let mut email = typed_email.to_lowercase();
    email.truncate(email.floor_char_boundary(COUNTED_EMAIL_BYTES_MAX));
    [
        Subject::SignInAccount(email),
        Subject::SignInAddress(visit.peer),
    ]
}

/// Opens a session, always a new one, and closes the one that the browser had.
async fn enter(visit: &Visit, account: &Account, location: &str) -> PageResult {
    let service = &visit.site.service;
    let hash = account.password_hash.clone();
    let (opened, cookie) = session::open(account.id, hash, visit.judged_at, visit.is_secure);
    let sign_in = SignIn {
        account: account.id,
        opened,
        replaced: visit.viewer.as_ref().map(|viewer| viewer.session_digest),
    };
    let sign_ins = &visit.site.sign_ins;
    match sign_ins.hand_in(&service.control, sign_in).await {
        Some(Ok(true)) => {}
        // The password was changed meanwhile, or the account disabled.
        Some(Ok(false)) => return Err(Refusal::SignIn),
        Some(Err(text)) => return Err(Refusal::Failed(text)),
        None => return Err(Refusal::Failed("a sign-in was not stored".to_owned())),
    }
    let mut response = answer::see_other(location);
    response.headers_mut().append(SET_COOKIE, cookie);
    Ok(response)
}

/// `GET /signup`: 404 when registration is closed.
pub(crate) fn show_sign_up(visit: &Visit) -> PageResult {
    if visit.viewer.is_some() {
        return Ok(answer::see_other("/keys"));
    }
    if !visit.is_registration_open() {
        return Err(Refusal::NotFound);
    }
    answer::page(StatusCode::OK, &EntryPage::sign_up(visit))
}

/// `POST /signup`.
///
/// Whether the address is taken or free, the work and the answer are the same, and nobody is
/// signed in by it.
pub(crate) async fn sign_up(visit: &Arc<Visit>) -> PageResult {
    if !visit.is_registration_open() {
        return Err(Refusal::NotFound);
    }
    let draft = match AccountDraft::read(visit) {
        Ok(draft) => draft,
        Err(fault) => {
            let form = EntryPage::sign_up(visit);
            return form.refused(visit, StatusCode::UNPROCESSABLE_ENTITY, fault);
        }
    };
    let subjects = [Subject::SignUpAddress(visit.peer)];
    visit.site.throttle.take(&subjects, visit.elapsed())?;
    let account = draft.hashed(visit, Role::User).await?;
    visit
        .blocking(move |visit| {
            make_account(visit, account)?;
            Ok(answer::see_other("/signin?notice=signed-up"))
        })
        .await
}

/// `GET /setup`: the form of the first account, for whoever has the link.
pub(crate) fn show_set_up(visit: &Visit) -> PageResult {
    let token = visit.query.get("token");
    if !visit.site.setup.is_token(token) || !visit.site.is_first_start() {
        return Err(Refusal::NotFound);
    }
    answer::page(StatusCode::OK, &EntryPage::set_up(visit, token))
}

/// `POST /setup`: makes the first account and signs it in.
pub(crate) async fn set_up(visit: &Arc<Visit>) -> PageResult {
    let token = visit.form.get("token");
    if !visit.site.setup.is_token(token) || !visit.site.is_first_start() {
        return Err(Refusal::NotFound);
    }
    let draft = match AccountDraft::read(visit) {
        Ok(draft) => draft,
        Err(fault) => {
            let form = EntryPage::set_up(visit, token);
            return form.refused(visit, StatusCode::UNPROCESSABLE_ENTITY, fault);
        }
    };
    let account = draft.hashed(visit, Role::Admin).await?;
    let account = visit.blocking(move |visit| {
        let _turn = visit.site.setup.turnstile.lock();
        if !visit.site.is_first_start() {
            return Err(Refusal::NotFound);
        }
        make_account(visit, account)?.ok_or(Refusal::NotFound)
    });
    enter(visit, &account.await?, "/keys").await
}

/// `POST /signout`: ends this session, or with `everywhere` every session of the account.
pub(crate) fn sign_out(visit: &Visit) -> PageResult {
    let is_everywhere = visit.form.has("everywhere");
    if let Some(viewer) = &visit.viewer {
        let event = if is_everywhere {
            let account = &viewer.account;
            Change::CloseSessions(account.id).by(account.email.as_str(), visit.now)
        } else {
            StateEvent::CloseSession(viewer.session_digest)
        };
        visit.site.service.engine.apply(vec![event])?;
    }
    let notice = if is_everywhere {
        "signed-out-everywhere"
    } else {
        "signed-out"
    };
    let mut response = answer::see_other(&format!("/signin?notice={notice}"));
    let cookie = session::forget(visit.is_secure);
    response.headers_mut().append(SET_COOKIE, cookie);
    Ok(response)
}

/// An account as it was typed, judged.
struct AccountDraft {
    email: Email,
    name: String,
    password: Password,
}

impl AccountDraft {
    fn read(visit: &Visit) -> Result<Self, Fault> {
        let email = Email::parse(visit.form.get("email")).ok_or(visit.lang.t(
            "This is not an e-mail address.",
            "Esto no es una dirección de correo.",
        ))?;
        Ok(Self {
            email,
            name: display_name(visit)?,
            password: new_password(visit, "password")?,
        })
    }

    async fn hashed(self, visit: &Visit, role: Role) -> Result<NewAccount, Refusal> {
        Ok(NewAccount {
            email: self.email,
            display_name: self.name,
            role,
            password_hash: visit.site.hashing.hash(self.password).await?,
        })
    }
}

/// The field `name`: one short line, or nothing.
pub(super) fn display_name(visit: &Visit) -> Result<String, Fault> {
    let name = visit.form.get("name");
    let is_short = name.chars().count() <= NAME_CHARS_MAX;
    if is_short && !name.chars().any(char::is_control) {
        return Ok(name.to_owned());
    }
    Err(visit.lang.t(
        "A name has at most 80 characters, on one line.",
        "Un nombre tiene como mucho 80 caracteres, en una línea.",
    ))
}

/// A password to be set, from the field `field`.
pub(super) fn new_password(visit: &Visit, field: &str) -> Result<Password, Fault> {
    Password::parse(visit.form.raw(field)).map_err(|fault| match fault {
        PasswordFault::TooShort => visit.lang.t(
            "The password is too short: at least 8 characters.",
            "La contraseña es demasiado corta: al menos 8 caracteres.",
        ),
        PasswordFault::TooLong => visit.lang.t(
            "The password is too long: at most 256 bytes.",
            "La contraseña es demasiado larga: como mucho 256 bytes.",
        ),
    })
}

/// Makes an account; `None` when its address is taken.
fn make_account(visit: &Visit, account: NewAccount) -> Result<Option<Account>, Refusal> {
    let engine = &visit.site.service.engine;
    let email = account.email.clone();
    let created = Change::CreateAccount(account).by(email.as_str(), visit.now);
    let Some(Outcome::Account(account)) = engine.apply(vec![created])?.pop() else {
        return Ok(None);
    };
    visit.site.service.reload_api_keys();
    Ok(Some(account))
}

/// Where a sign-in leads when nothing else is said.
fn landing(next: &str) -> String {
    match next_of(next) {
        next if next.is_empty() => "/keys".to_owned(),
        next => next,
    }
}

/// A path on this site that may be led to; empty for anything else.
fn next_of(next: &str) -> String {
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
