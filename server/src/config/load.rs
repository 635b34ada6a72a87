//! Layers of text over the defaults, and the origin of each value.

use std::ffi::OsString;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;
use subcat_engine::StoreKind;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{ConfigError, SettingError};
use super::origin::{Origin, Origins};
use super::secret::Secrets;
use super::settings::{Applies, Config, SETTINGS, Setting, VARIABLE_PREFIX};
use crate::limits::{MISTYPED_LETTERS_MAX, SECRET_BYTES_MAX};

/// Configuration file that is read by default, if it exists.
const FILE_DEFAULT: &str = "/etc/subcat/subcat.toml";

/// Variables of clients, which the documentation page exports. They are never settings.
const CLIENT_VARIABLES: [&str; 2] = ["SUBCAT_KEY", "SUBCAT_URL"];

/// The sources of values, over the defaults.
#[derive(Clone, Default)]
pub struct Sources {
    /// The file that `--config` names.
    pub file: Option<PathBuf>,
    /// Environment variables; those of other programs are ignored.
    pub variables: Vec<(OsString, OsString)>,
    /// Flags of the command line that set something.
    pub flags: Vec<SettingFlag>,
}

impl fmt::Debug for Sources {
    /// Without values, which may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sources")
            .field("file", &self.file)
            .field("flags", &self.flags)
            .finish_non_exhaustive()
    }
}

/// A setting that the command line gives.
#[derive(Clone)]
pub struct SettingFlag {
    /// The setting's path.
    pub name: String,
    /// Value as text.
    pub value: String,
    /// The flag as the user wrote it, for messages.
    pub flag: String,
}

impl fmt::Debug for SettingFlag {
    /// Without the value, which may be a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SettingFlag")
            .field("flag", &self.flag)
            .finish_non_exhaustive()
    }
}

/// A setting in effect.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ConfigEntry {
    /// The setting's path.
    pub name: &'static str,
    /// Value in effect.
    pub value: Value,
    /// Origin of the value.
    pub origin: String,
    /// The time at which a changed value takes effect.
    pub applies: Applies,
}

/// The configuration in effect, and the origin of each value.
#[derive(Debug, Clone)]
pub struct Effective {
    /// The values.
    pub config: Config,
    /// The origin of each value.
    pub origins: Origins,
    /// Variables that look like settings and are none, in order. They are ignored.
    pub ignored_variables: Vec<String>,
    /// The sources that were read: a reload reads them again.
    pub sources: Sources,
}

impl Effective {
    /// Returns true if a setting has a value that was given, not its default.
    pub fn is_given(&self, name: &str) -> bool {
        let origin = self.origins.of(name);
        origin.is_some_and(|origin| *origin != Origin::Default)
    }

    /// Every setting in the order of the table.
    pub fn entries(&self, secrets: Secrets) -> Vec<ConfigEntry> {
        let entry = |(setting, origin): (&Setting, &Origin)| ConfigEntry {
            name: setting.name,
            value: setting.shown(&self.config, secrets),
            origin: origin.to_string(),
            applies: setting.applies,
        };
        SETTINGS.iter().zip(self.origins.all()).map(entry).collect()
    }
}

/// One value of one layer.
struct Layered {
    place: SettingPlace,
    value: String,
    origin: Origin,
}

/// The setting that a name means.
#[derive(Clone, Copy)]
struct SettingPlace {
    setting_idx: usize,
    /// The name ends in `_file`: the value is the path of a file that holds the setting's value.
    is_file: bool,
}

/// Suffix of a setting that names a file with the value.
const FILE_SUFFIX: &str = "_file";

impl Sources {
    /// Applies the layers over the defaults: file, variables, flags.
    ///
    /// Errors: all errors of all layers, not only the first.
    pub fn load(&self) -> Result<Effective, ConfigError> {
        let mut errors = Vec::new();
        let mut layers = Vec::new();
        self.read_file(&mut layers, &mut errors);
        let ignored_variables = self.read_variables(&mut layers, &mut errors);
        self.read_flags(&mut layers, &mut errors);

        let mut config = Config::default();
        let mut origins = Origins::defaults();
        for layered in layers {
            let SettingPlace { setting_idx, .. } = layered.place;
            let setting = &SETTINGS[setting_idx];
            let layered = match layered.unpacked(setting) {
                Ok(layered) => layered,
                Err(error) => {
                    errors.push(error);
                    continue;
                }
            };
            if (setting.set)(&mut config, &layered.value).is_some() {
                origins.set(setting_idx, layered.origin);
                continue;
            }
            errors.push(refused(setting, layered));
        }
        errors.extend(contradiction(&config));
        if !errors.is_empty() {
            return Err(ConfigError(errors));
        }
        Ok(Effective {
            config,
            origins,
            ignored_variables,
            sources: self.clone(),
        })
    }

    fn read_file(&self, layers: &mut Vec<Layered>, errors: &mut Vec<SettingError>) {
        let path = match &self.file {
            Some(path) => path.as_path(),
            None => Path::new(FILE_DEFAULT),
        };
        match std::fs::read_to_string(path) {
            Ok(text) => read_toml(path, &text, layers, errors),
            Err(error) if self.file.is_none() && error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => errors.push(SettingError::Unreadable {
                path: path.to_owned(),
                source: error,
            }),
        }
    }

    /// Returns the names that are no settings, and do not resemble one either.
    fn read_variables(
        &self,
        layers: &mut Vec<Layered>,
        errors: &mut Vec<SettingError>,
    ) -> Vec<String> {
        let mut ignored = Vec::new();
        for (name, value) in &self.variables {
            let name = name.to_string_lossy();
            if !name.starts_with(VARIABLE_PREFIX) {
                continue;
            }
            let value = value.to_string_lossy().into_owned();
            let origin = Origin::Variable(name.clone().into_owned());
            if let Some(place) = place_of_variable(&name) {
                layers.push(Layered {
                    place,
                    value,
                    origin,
                });
                continue;
            }
            if CLIENT_VARIABLES.contains(&&*name) {
                continue;
            }
            let nearest = nearest(&name, SETTINGS.iter().map(Setting::variable));
            if MISTYPED_LETTERS_MAX < strsim::damerau_levenshtein(&name, &nearest) {
                ignored.push(name.into_owned());
                continue;
            }
            errors.push(SettingError::Unknown {
                nearest,
                given: name.into_owned(),
                // Without its name, which the message begins with.
                origin: Origin::Variable("variable".into()),
            });
        }
        ignored.sort_unstable();
        ignored
    }

    fn read_flags(&self, layers: &mut Vec<Layered>, errors: &mut Vec<SettingError>) {
        for SettingFlag { name, value, flag } in &self.flags {
            let origin = Origin::CommandLine(flag.clone());
            match place_of(name) {
                Some(place) => layers.push(Layered {
                    place,
                    value: value.clone(),
                    origin,
                }),
                None => errors.push(unknown(name, origin)),
            }
        }
    }
}

impl Layered {
    /// The value itself, read from its file if the setting names one.
    ///
    /// Errors: the file cannot be read, or is too long.
    fn unpacked(self, setting: &Setting) -> Result<Self, SettingError> {
        if !self.place.is_file {
            return Ok(self);
        }
        let path = PathBuf::from(self.value);
        let unreadable = |path: &Path, origin: &Origin, source| SettingError::SecretUnreadable {
            name: setting.name,
            path: path.to_owned(),
            origin: origin.clone(),
            source,
        };
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) => return Err(unreadable(&path, &self.origin, error)),
        };
        if SECRET_BYTES_MAX < text.len() {
            let error = std::io::Error::other(format!("longer than {SECRET_BYTES_MAX} bytes"));
            return Err(unreadable(&path, &self.origin, error));
        }
        Ok(Self {
            // Editors and `echo` end a file with a line feed.
            value: text.trim_end_matches(['\r', '\n']).to_owned(),
            origin: Origin::SecretFile(path, Box::new(self.origin)),
            ..self
        })
    }
}

/// The error of a value that is not allowed.
fn refused(setting: &Setting, layered: Layered) -> SettingError {
    let (name, allowed, origin) = (setting.name, setting.allowed, layered.origin);
    match setting.shown_text(&layered.value) {
        Some(value) => SettingError::Value {
            name,
            value,
            origin,
            allowed,
        },
        None => SettingError::Secret {
            name,
            origin,
            allowed,
        },
    }
}

fn place_of(name: &str) -> Option<SettingPlace> {
    let position = |name: &str| SETTINGS.iter().position(|setting| setting.name == name);
    if let Some(setting_idx) = position(name) {
        return Some(SettingPlace {
            setting_idx,
            is_file: false,
        });
    }
    let setting_idx = position(name.strip_suffix(FILE_SUFFIX)?)?;
    SETTINGS[setting_idx].is_secret.then_some(SettingPlace {
        setting_idx,
        is_file: true,
    })
}

fn place_of_variable(variable: &str) -> Option<SettingPlace> {
    let file_suffix = FILE_SUFFIX.to_uppercase();
    let (bare, is_file) = match variable.strip_suffix(&file_suffix) {
        Some(bare) => (bare, true),
        None => (variable, false),
    };
    let is_named = |s: &Setting| s.variable() == bare && (s.is_secret || !is_file);
    let setting_idx = SETTINGS.iter().position(is_named)?;
    Some(SettingPlace {
        setting_idx,
        is_file,
    })
}

fn unknown(name: &str, origin: Origin) -> SettingError {
    let names = SETTINGS.iter().map(|setting| setting.name);
    // The name of a whole table may be the wrong one.
    let tables = names
        .clone()
        .filter_map(|name| Some(name.split_once('.')?.0));
    let candidates = names.chain(tables).map(str::to_owned);
    SettingError::Unknown {
        given: name.to_owned(),
        nearest: nearest(name, candidates),
        origin,
    }
}

/// The name with the fewest edits to `given`.
fn nearest(given: &str, names: impl Iterator<Item = String>) -> String {
    names
        .min_by_key(|name| strsim::damerau_levenshtein(given, name))
        .unwrap_or_default()
}

/// The first contradiction between two settings that are allowed by themselves.
fn contradiction(config: &Config) -> Option<SettingError> {
    if config.listen.tcp() == Some(config.admin) && config.admin.port() != 0 {
        return Some(SettingError::SameAddress);
    }
    if config.upstream.timeout_seconds < config.upstream.connect_seconds {
        return Some(SettingError::TimeoutTooShort);
    }
    if config.traces.url.is_some() && !cfg!(feature = "otlp") {
        return Some(SettingError::NoExporter);
    }
    if config.files_s3.endpoint.is_some() && !cfg!(feature = "s3") {
        return Some(SettingError::NoObjectStorage);
    }
    if config.cluster.log.is_some() {
        if config.store == StoreKind::Memory {
            return Some(SettingError::ClusterInMemory);
        }
        if config.files_s3.endpoint.is_none() {
            return Some(SettingError::NoSharedFiles);
        }
    }
    let half = config.files_s3.half_set();
    half.map(|(given, missing)| SettingError::Half { given, missing })
}

fn read_toml(path: &Path, text: &str, layers: &mut Vec<Layered>, errors: &mut Vec<SettingError>) {
    match DeTable::parse(text) {
        Ok(table) => {
            let mut reader = FileReader {
                path,
                text,
                layers,
                errors,
            };
            reader.read_table("", table.get_ref());
        }
        Err(error) => errors.push(SettingError::Syntax {
            path: path.to_owned(),
            line: line_of(text, &error.span().unwrap_or_default()),
            reason: error.message().trim().replace('\n', " "),
        }),
    }
}

fn line_of(text: &str, span: &Range<usize>) -> usize {
    let before = text.get(..span.start).unwrap_or(text);
    before.matches('\n').count() + 1
}

struct FileReader<'a> {
    path: &'a Path,
    text: &'a str,
    layers: &'a mut Vec<Layered>,
    errors: &'a mut Vec<SettingError>,
}

impl FileReader<'_> {
    fn read_table(&mut self, prefix: &str, table: &DeTable<'_>) {
        for (key, value) in table {
            let name = format!("{prefix}{}", key.get_ref());
            self.read_value(&name, key.span(), value);
        }
    }

    fn read_value(&mut self, name: &str, key: Range<usize>, value: &Spanned<DeValue<'_>>) {
        let origin = Origin::File(self.path.to_path_buf(), line_of(self.text, &key));
        let inner = format!("{name}.");
        let is_group = SETTINGS.iter().any(|s| s.name.starts_with(&inner));
        match (place_of(name), value.get_ref()) {
            (Some(place), value) => self.layers.push(Layered {
                place,
                value: plain_text(value),
                origin,
            }),
            (None, DeValue::Table(table)) if is_group => self.read_table(&inner, table),
            (None, _) => self.errors.push(unknown(name, origin)),
        }
    }
}

/// The value as it would be written in a variable. A table becomes a text that no setting accepts.
fn plain_text(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => text.clone().into_owned(),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => number.to_string(),
            Err(_) => number.to_string(),
        },
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(is_true) => is_true.to_string(),
        DeValue::Datetime(at) => at.to_string(),
        DeValue::Array(items) => {
            let texts: Vec<String> = items.iter().map(|i| plain_text(i.get_ref())).collect();
            texts.join(",")
        }
        DeValue::Table(_) => "{…}".into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sources(file: &str, variables: &[(&str, &str)], flags: &[(&str, &str)]) -> Vec<String> {
        match load(file, variables, flags) {
            Ok(_) => Vec::new(),
            Err(errors) => errors.to_string().lines().map(str::to_owned).collect(),
        }
    }

    fn load(
        file: &str,
        variables: &[(&str, &str)],
        flags: &[(&str, &str)],
    ) -> Result<Effective, ConfigError> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.toml");
        std::fs::write(&path, file).unwrap();
        let sources = Sources {
            file: Some(path),
            variables: variables
                .iter()
                .map(|(n, v)| (n.into(), v.into()))
                .collect(),
            flags: flags
                .iter()
                .map(|(n, v)| SettingFlag {
                    name: (*n).into(),
                    value: (*v).into(),
                    flag: format!("--{n}"),
                })
                .collect(),
        };
        sources.load()
    }

    fn entry(effective: &Effective, name: &str) -> ConfigEntry {
        let mut entries = effective.entries(Secrets::Hidden).into_iter();
        entries.find(|e| e.name == name).unwrap()
    }

    #[test]
    fn the_command_line_wins_over_variables_over_the_file_over_defaults() {
        let file =
            "workers = 3\n[connections]\nmax = 5\nmax_per_address = 4\n[log]\nlevel = 'warn'";
        let variables = [
            ("SUBCAT_CONNECTIONS_MAX", "6"),
            ("SUBCAT_LOG_LEVEL", "debug"),
        ];
        let effective = load(file, &variables, &[("log.level", "trace")]).unwrap();
        let value = |name| entry(&effective, name).value.clone();
        assert_eq!(value("workers"), json!(3));
        assert_eq!(value("connections.max_per_address"), json!(4));
        assert_eq!(value("connections.max"), json!(6));
        assert_eq!(value("log.level"), json!("trace"));
        assert_eq!(value("listen"), json!("127.0.0.1:8080"));
        assert_eq!(effective.config.connections.max, 6);
        let origin = |name| entry(&effective, name).origin.clone();
        assert!(origin("workers").ends_with("s.toml line 1"));
        assert!(origin("connections.max_per_address").ends_with("s.toml line 4"));
        assert_eq!(
            origin("connections.max"),
            "environment SUBCAT_CONNECTIONS_MAX"
        );
        assert_eq!(origin("log.level"), "command line --log.level");
        assert_eq!(origin("listen"), "default");
    }

    #[test]
    fn dotted_keys_arrays_and_other_radixes_are_read() {
        let file = "rate_limit.requests = 0x10\ntrusted_proxies = ['10.0.0.0/8', '::1']";
        let effective = load(file, &[], &[]).unwrap();
        assert_eq!(entry(&effective, "rate_limit.requests").value, json!(16));
        let networks = json!(["10.0.0.0/8", "::1/128"]);
        assert_eq!(entry(&effective, "trusted_proxies").value, networks);
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_nearest() {
        let errors = sources("[upstream]\ntimeout = 3", &[], &[]);
        assert_eq!(errors.len(), 1);
        assert!(errors[0].contains("s.toml line 2"), "{errors:?}");
        assert!(
            errors[0].contains("unknown setting upstream.timeout "),
            "{errors:?}"
        );
        let errors = sources("", &[("SUBCAT_LISTEM", "x")], &[]);
        let expected = "unknown setting SUBCAT_LISTEM (environment variable): \
                        did you mean SUBCAT_LISTEN?";
        assert_eq!(errors, [expected]);
        let errors = sources("", &[], &[("conections.max", "1")]);
        assert!(
            errors[0].ends_with("did you mean connections.max?"),
            "{errors:?}"
        );
        assert!(sources("[nothing]", &[], &[])[0].contains("unknown setting nothing"));
        assert!(sources("[ratelimit]", &[], &[])[0].ends_with("did you mean rate_limit?"));
        assert!(sources("[listen]\na = 1", &[], &[])[0].starts_with("listen is \"{…}\""));
        assert!(sources("upstream = 3", &[], &[])[0].contains("unknown setting upstream "));
    }

    #[test]
    fn variables_that_resemble_no_setting_are_ignored_and_named() {
        let variables = [
            ("SUBCAT_PORT", "tcp://10.0.0.1:8080"),
            ("SUBCAT_SERVICE_HOST", "10.0.0.1"),
            ("SUBCAT_KEY", "sct_"),
            ("SUBCAT_URL", "http://127.0.0.1:8080"),
            ("SUBCAT_PORT_8080_TCP", "x"),
            ("SUBCATS", "x"),
        ];
        let effective = load("", &variables, &[]).unwrap();
        let ignored = ["SUBCAT_PORT", "SUBCAT_PORT_8080_TCP", "SUBCAT_SERVICE_HOST"];
        assert_eq!(effective.ignored_variables, ignored);
        for mistyped in [
            "SUBCAT_WORKER",
            "SUBCAT_LSTEN",
            "SUBCAT_DTAA",
            "SUBCAT_LOGLVEL",
        ] {
            assert_eq!(sources("", &[(mistyped, "1")], &[]).len(), 1, "{mistyped}");
        }
    }

    #[test]
    fn a_bad_value_names_setting_value_origin_and_what_is_allowed() {
        let errors = sources("", &[("SUBCAT_WORKERS", "many")], &[]);
        let expected = "workers is \"many\" (environment SUBCAT_WORKERS): \
                        expected a whole number from 1 to 1024";
        assert_eq!(errors, [expected]);
    }

    /// The content of a value's own file is neither shown nor named in an error.
    #[test]
    fn a_secret_may_stand_in_a_file_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("url");
        let url = "https://u.example/{source_release_id}?token=hush";
        std::fs::write(&path, format!("{url}\n")).unwrap();
        let path = path.to_str().unwrap();
        let file = format!("[upstream]\nurl_file = '{path}'");
        for effective in [
            load(&file, &[], &[]).unwrap(),
            load("", &[("SUBCAT_UPSTREAM_URL_FILE", path)], &[]).unwrap(),
            load("", &[], &[("upstream.url_file", path)]).unwrap(),
        ] {
            assert_eq!(effective.config.upstream.url.as_deref(), Some(url));
            let entry = entry(&effective, "upstream.url");
            assert_eq!(entry.value, json!("set (hidden), https://u.example"));
            let shown = effective.entries(Secrets::Shown);
            assert!(shown.iter().any(|e| e.value == json!(url)));
            assert!(entry.origin.starts_with(path), "{}", entry.origin);
        }
        std::fs::write(path, "hush").unwrap();
        let error = sources(&file, &[], &[]).join("\n");
        assert!(error.starts_with("upstream.url is not valid"), "{error}");
        assert!(!error.contains("hush"), "{error}");
        let missing = sources("", &[("SUBCAT_UPSTREAM_URL_FILE", "/nonexistent/x")], &[]);
        assert!(missing[0].contains("/nonexistent/x"), "{missing:?}");
        // Only settings that may be secret can be read from a file of their own.
        assert_eq!(sources("listen_file = 'x'", &[], &[]).len(), 1);
    }

    #[test]
    fn every_error_is_reported_at_once() {
        let variables = [
            ("SUBCAT_IO", "kqueue"),
            ("SUBCAT_WORKER", "1"),
            ("PATH", "x"),
        ];
        assert_eq!(sources("workers = -1", &variables, &[]).len(), 3);
    }

    #[test]
    fn contradictions_are_found() {
        let errors = sources("listen = '127.0.0.1:1'\nadmin = '127.0.0.1:1'", &[], &[]);
        assert!(errors[0].starts_with("listen and admin"), "{errors:?}");
        assert!(sources("listen = '127.0.0.1:0'\nadmin = '127.0.0.1:0'", &[], &[]).is_empty());
        let errors = sources("upstream.timeout_seconds = 2", &[], &[]);
        assert!(
            errors[0].starts_with("upstream.timeout_seconds"),
            "{errors:?}"
        );
        let errors = sources("files.s3.bucket = 'files'", &[], &[]);
        let expected = "files.s3.bucket is set and files.s3.endpoint is not";
        assert!(errors[0].starts_with(expected), "{errors:?}");
        let errors = sources("files.s3.secret_key = 'x'", &[], &[]);
        let expected = "files.s3.secret_key is set and files.s3.access_key is not";
        assert!(errors[0].starts_with(expected), "{errors:?}");
        let errors = sources("traces.url = 'http://127.0.0.1:4318'", &[], &[]);
        let is_refused = errors.iter().any(|error| error.contains("feature otlp"));
        assert_eq!(is_refused, !cfg!(feature = "otlp"), "{errors:?}");
    }

    #[test]
    fn a_file_that_is_not_valid_toml_is_named_with_its_line() {
        let errors = sources("workers = 3\nlisten = ", &[], &[]);
        assert!(
            errors[0].contains("s.toml line 2 is not valid TOML"),
            "{errors:?}"
        );
        let missing = Sources {
            file: Some("/nonexistent/s.toml".into()),
            ..Sources::default()
        };
        let errors = missing.load().unwrap_err().to_string();
        assert!(errors.contains("/nonexistent/s.toml"), "{errors}");
    }
}
