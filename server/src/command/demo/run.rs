//! `subcat demo`: everything that a first look needs, in one command.

use std::io::{self, BufRead};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use subcat_engine::{Email, RecordId, Role, block_on};

use super::local_upstream::LocalUpstream;
use crate::auth::new_api_key_text;
use crate::command::access::{Access, Missing};
use crate::command::context::{Context, now};
use crate::command::demo::CATALOG;
use crate::command::error::{CommandError, SubjectError};
use crate::command::folder::{FolderImport, FolderNotes};
use crate::command::logging;
use crate::command::output::print;
use crate::command::serve::Running;
use crate::command::subcommand::Subcommand;
use crate::command::table_arguments::year_of;
use crate::config::Config;
use crate::ops::{
    CreateAccount, CreateKey, ImportError, ImportFile, ImportFiles, ImportOptions, Operation,
    Operations, SetAccountPassword, import,
};
use crate::rows::{Format, RowOptions};
use crate::runtime::Control;
use crate::service::{Actor, Service};
use crate::web::Password;

/// Data directory of the demo unless another one is given.
const DATA_DEFAULT: &str = "./subcat-demo";
/// Data directory of the demo of a folder unless another one is given.
const FOLDER_DATA_DEFAULT: &str = "./subcat-demo-folder";
/// The account that it makes.
const EMAIL: &str = "demo@example.org";

/// Try it: a catalog of real titles, files, an account and an API key, in one command
///
/// The data directory is ./subcat-demo unless --data names another. It is kept for the next run.
/// With DIR the catalog is what that folder of subtitles holds, and the data directory is
/// ./subcat-demo-folder.
#[derive(Debug, Args)]
pub(in crate::command) struct DemoArguments {
    /// A folder of subtitles, in place of the catalog of the demo
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
    /// The public address [default: 127.0.0.1:8080]
    #[arg(long, value_name = "IP:PORT")]
    listen: Option<String>,
}

/// Account and key of the demo, kept for its next run.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct DemoLogin {
    email: String,
    password: String,
    key: String,
}

impl Subcommand for DemoArguments {
    const NAME: &'static str = "demo";

    fn run(self, context: &Context) -> Result<(), CommandError> {
        let control = Control::start()?;
        let upstream = LocalUpstream::start(&control.handle())
            .map_err(|error| SubjectError::new("the local upstream", error))?;
        let data = match context.data() {
            Some(_) => None,
            None if context.is_set("data") => None,
            None if self.folder.is_some() => Some(FOLDER_DATA_DEFAULT.to_owned()),
            None => Some(DATA_DEFAULT.to_owned()),
        };
        let own = |name, value: &str| {
            let is_set = context.is_set(name);
            (name, (!is_set).then(|| value.to_owned()))
        };
        let flags = [
            ("data", data),
            match self.listen {
                Some(listen) => ("listen", Some(listen)),
                None => own("listen", "127.0.0.1:8080"),
            },
            own("admin", "127.0.0.1:0"),
            own("accounts.registration", "open"),
            own("upstream.url", &upstream.url_template()),
        ];
        let effective = context.effective(&flags)?;
        logging::start(&effective.config.log);
        let data = effective.config.data.clone();
        let has_folder = self.folder.is_some();
        if let Some(folder) = self.folder {
            load_folder(folder, &effective.config, context.is_json())?;
        }
        let mut running = Running::start(effective)?;
        if !has_folder {
            if is_foreign(running.service(), &data)? {
                running.stop()?;
                return Err(ForeignCatalogError(data).into());
            }
            load_catalog(running.service())?;
        }
        let login = prepare(running.service(), &data)?;
        let example = example(running.service())?;
        let summary = DemoSummary::new(running.base_url(), &data, login, &example);
        print(&if context.is_json() {
            summary.json()
        } else {
            running.announcement() + &summary.text()
        })?;
        running.wait();
        running.stop()?;
        drop(upstream);
        control.stop();
        Ok(())
    }
}

/// A data directory that no demo has made: it gets no records and no administrator of the demo's.
#[derive(Debug, thiserror::Error)]
#[error(
    "{} holds a catalog that is not the demo's: name another directory with --data, or use \
     subcat serve",
    .0.display()
)]
struct ForeignCatalogError(PathBuf);

/// True if the directory has more records than the demo, or accounts of others, and no login of an
/// earlier demo beside it.
fn is_foreign(service: &Service, data: &Path) -> Result<bool, CommandError> {
    let path =
        login_path(data).map_err(|error| SubjectError::new(data.display().to_string(), error))?;
    if path.exists() {
        return Ok(false);
    }
    let demo_records = CATALOG.lines().count() as u64;
    let accounts = service.engine.accounts().all();
    let has_others = accounts
        .iter()
        .any(|account| account.email.as_str() != EMAIL);
    Ok(has_others || demo_records < service.engine.stats()?.records)
}

/// The shipped catalog as a file.
struct ShippedCatalog {
    is_read: bool,
}

impl ImportFiles for ShippedCatalog {
    fn next_file(&mut self) -> io::Result<Option<ImportFile<'_>>> {
        if std::mem::replace(&mut self.is_read, true) {
            return Ok(None);
        }
        let content: Box<dyn BufRead> = Box::new(CATALOG.as_bytes());
        Ok(Some(ImportFile {
            name: "the demo catalog".into(),
            format: Format::Jsonl,
            content,
        }))
    }
}

fn load_catalog(service: &Service) -> Result<(), ImportError> {
    let mut file = ShippedCatalog { is_read: false };
    let options = ImportOptions {
        is_strict: true,
        is_dry_run: false,
    };
    import(&service.engine, &mut file, options, &mut |_| ())?;
    Ok(())
}

/// Loads a folder of subtitles into the data directory, before the server opens it.
fn load_folder(folder: PathBuf, config: &Config, is_json: bool) -> Result<(), CommandError> {
    let is_there = config.data.join("format").exists();
    if is_there && !login_path(&config.data).is_ok_and(|path| path.exists()) {
        return Err(ForeignCatalogError(config.data.clone()).into());
    }
    let name = folder.display().to_string();
    if !folder.is_dir() {
        let reason = io::Error::from(io::ErrorKind::NotADirectory);
        return Err(SubjectError::new(name, reason).into());
    }
    let access = Access::open(config.clone(), Missing::Create)?;
    mark_as_ours(&config.data)
        .map_err(|error| SubjectError::new(config.data.display().to_string(), error))?;
    let import = FolderImport {
        folder,
        fix: None,
        to: None,
        prune: None,
        options: ImportOptions::default(),
        rows: RowOptions {
            next_year: year_of(now()) + 1,
            ..RowOptions::default()
        },
        bytes_max: config.upstream.max_bytes,
        shows_table: false,
    };
    let (result, FolderNotes(lines)) = import.run(&access)?;
    access.close()?;
    if !is_json {
        let loaded = result.inserted + result.updated + result.unchanged;
        print(&format!("{loaded} records from {name}\n{lines}"))?;
    }
    Ok(())
}

/// Id and title of a record for the examples.
fn example(service: &Service) -> Result<ExampleRecord, CommandError> {
    let shipped = CATALOG.lines().next().unwrap_or_default();
    let shipped: Value = serde_json::from_str(shipped)?;
    let text = |field: &str| shipped[field].as_str().unwrap_or_default().to_owned();
    let mut example = ExampleRecord {
        id: text("id"),
        title: text("title"),
    };
    let id = RecordId::parse(&example.id);
    if id.is_some_and(|id| service.engine.catalog().has_record(id).unwrap_or(false)) {
        return Ok(example);
    }
    let mut is_found = false;
    service.engine.catalog().export(&mut |record| {
        if !std::mem::replace(&mut is_found, true) {
            example.id = record.id.to_string();
            example.title.clone_from(&record.title);
        }
        Ok(())
    })?;
    Ok(example)
}

/// A record for the examples.
struct ExampleRecord {
    id: String,
    title: String,
}

/// The account and the key of the last run, or new ones.
fn prepare(service: &Arc<Service>, data: &Path) -> Result<DemoLogin, CommandError> {
    let path =
        login_path(data).map_err(|error| SubjectError::new(data.display().to_string(), error))?;
    if let Some(known) = known_login(service, &path) {
        return Ok(known);
    }
    let operations = Operations::of_service(service, Actor::CommandLine);
    let password: String = new_api_key_text().chars().skip(4).take(16).collect();
    let password_hash = Password::parse(&password)
        .expect("16 characters are enough")
        .hash();
    let account = Email::parse(EMAIL).and_then(|email| service.engine.accounts().by_email(&email));
    if account.is_some() {
        let set = SetAccountPassword {
            email: EMAIL.into(),
            password_hash,
        };
        block_on(set.execute(&operations))?;
    } else {
        let create = CreateAccount {
            email: EMAIL.into(),
            role: Role::Admin.as_str().into(),
            password_hash,
        };
        block_on(create.execute(&operations))?;
    }
    let create = CreateKey {
        name: "demo".into(),
        account: Some(EMAIL.into()),
        expires_at: None,
        scopes: None,
        limit: None,
    };
    let created = block_on(create.execute(&operations))?;
    let login = DemoLogin {
        email: EMAIL.into(),
        password,
        key: created.key,
    };
    keep(&path, &login).map_err(|error| SubjectError::new(path.display().to_string(), error))?;
    Ok(login)
}

/// The file of account and key: beside the data directory, which holds files of the engine only.
fn login_path(data: &Path) -> io::Result<PathBuf> {
    let mut path = data.canonicalize()?.into_os_string();
    path.push(".json");
    Ok(path.into())
}

/// Makes the file of account and key before the folder is read: who stops the demo then
/// can start it again.
fn mark_as_ours(data: &Path) -> io::Result<()> {
    let path = login_path(data)?;
    let mut options = std::fs::OpenOptions::new();
    options.append(true).create(true).mode(0o600).open(path)?;
    Ok(())
}

/// The login in the file, if its account and key are still usable.
fn known_login(service: &Service, path: &Path) -> Option<DemoLogin> {
    let text = std::fs::read_to_string(path).ok()?;
    let login: DemoLogin = serde_json::from_str(&text).ok()?;
    let email = Email::parse(&login.email)?;
    let account = service.engine.accounts().by_email(&email)?;
    // The table of keys has none of disabled accounts.
    let known = service.api_keys().find(&login.key, service.now())?;
    if known.api_key.account == Some(account.id) {
        Some(login)
    } else {
        None
    }
}

fn keep(path: &Path, login: &DemoLogin) -> io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let file = options.open(path)?;
    file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    serde_json::to_writer(&file, login)?;
    file.sync_all()
}

/// Output of the demo.
struct DemoSummary {
    base: String,
    data: PathBuf,
    login: DemoLogin,
    curl_lines: [String; 3],
}

impl DemoSummary {
    fn new(base: String, data: &Path, login: DemoLogin, example: &ExampleRecord) -> Self {
        let ExampleRecord { id, title } = example;
        let title = utf8_percent_encode(title, NON_ALPHANUMERIC);
        let key = &login.key;
        let curl = |options: &str, path: String| {
            format!("curl -s{options} -H 'Authorization: Bearer {key}' '{base}{path}'")
        };
        let curl_lines = [
            curl("", format!("/api/subtitles/search?query={title}")),
            curl("", format!("/api/subtitles/{id}")),
            curl("OJ", format!("/api/subtitles/{id}/download")),
        ];
        Self {
            base,
            data: data.canonicalize().unwrap_or_else(|_| data.to_path_buf()),
            login,
            curl_lines,
        }
    }

    fn text(&self) -> String {
        let [search, record, download] = &self.curl_lines;
        let DemoLogin {
            email,
            password,
            key,
        } = &self.login;
        format!(
            "\nAPI key   {key}\n\n{search}\n{record}\n{download}\n\n\
             web page  {base}/\nsign in   {email} / {password}\ndata      {data}\n\n\
             Ctrl-C stops it; the data is kept for the next run.\n",
            base = self.base,
            data = self.data.display(),
        )
    }

    fn json(&self) -> String {
        let DemoLogin {
            email,
            password,
            key,
        } = &self.login;
        let summary = json!({
            "url": self.base,
            "key": key,
            "email": email,
            "password": password,
            "data": self.data.display().to_string(),
            "curl": self.curl_lines,
        });
        format!("{summary}\n")
    }
}
