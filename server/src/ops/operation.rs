//! What a subcommand asks for, as it travels over the admin socket.

use serde::{Deserialize, Serialize};

/// One request: the name is the path of the POST, the arguments are its JSON body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "operation", content = "arguments", deny_unknown_fields)]
#[expect(
    missing_docs,
    reason = "the fields are the arguments of the subcommand"
)]
pub enum Operation {
    /// `record set ID --active true|false`.
    #[serde(rename = "record/set")]
    RecordSet { id: String, is_active: bool },
    /// `record show ID`.
    #[serde(rename = "record/show")]
    RecordShow { id: String },
    /// `record delete ID…`.
    #[serde(rename = "record/delete")]
    RecordDelete { ids: Vec<String> },
    /// `key create`.
    #[serde(rename = "key/create")]
    KeyCreate(NewKeyOrder),
    /// `key list`.
    #[serde(rename = "key/list")]
    KeyList {},
    /// `key show ID`.
    #[serde(rename = "key/show")]
    KeyShow { id: u64 },
    /// `key revoke ID`.
    #[serde(rename = "key/revoke")]
    KeyRevoke { id: u64 },
    /// `account create EMAIL`.
    #[serde(rename = "account/create")]
    AccountCreate(NewAccountOrder),
    /// `account list`.
    #[serde(rename = "account/list")]
    AccountList {},
    /// `account password EMAIL`.
    #[serde(rename = "account/password")]
    AccountPassword {
        email: String,
        password_hash: String,
    },
    /// `account disable EMAIL`.
    #[serde(rename = "account/disable")]
    AccountDisable { email: String },
    /// `explain`: the parameters of a search as its query string.
    #[serde(rename = "explain")]
    Explain { query_string: String },
    /// `stats`.
    #[serde(rename = "stats")]
    Stats {},
    /// `verify`.
    #[serde(rename = "verify")]
    Verify { is_repairing: bool },
    /// `backup DEST`, an absolute path.
    #[serde(rename = "backup")]
    Backup { destination: String },
}

/// The arguments of `key create`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewKeyOrder {
    /// Its descriptive name.
    pub name: String,
    /// The address of the account that it shall belong to.
    pub account: Option<String>,
    /// When it expires.
    pub expires_at: Option<String>,
    /// Names of scopes, separated by commas; none means all.
    pub scopes: Option<String>,
    /// `REQUESTS/SECONDS`; none means the server's default.
    pub limit: Option<String>,
}

/// The arguments of `account create`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewAccountOrder {
    /// Its address.
    pub email: String,
    /// `user` or `admin`.
    pub role: String,
    /// PHC string of its password: the password itself does not travel.
    pub password_hash: String,
}

impl Operation {
    /// The path of its POST and the body.
    pub fn to_request(&self) -> (String, String) {
        let value = serde_json::to_value(self).expect("texts and numbers always serialise");
        let name = value["operation"].as_str().unwrap_or_default();
        (format!("/{name}"), value["arguments"].to_string())
    }

    /// Reads a path and a body. Errors: a sentence for whoever sent it.
    pub fn from_request(path: &str, body: &[u8]) -> Result<Self, String> {
        let arguments: serde_json::Value = serde_json::from_slice(body)
            .map_err(|error| format!("the body of {path} is no JSON: {error}"))?;
        let name = path.strip_prefix('/').unwrap_or(path);
        let value = serde_json::json!({ "operation": name, "arguments": arguments });
        serde_json::from_value(value).map_err(|error| format!("{path}: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(operation: &Operation, path: &str, body: &str) {
        assert_eq!(operation.to_request(), (path.to_owned(), body.to_owned()));
        let read = Operation::from_request(path, body.as_bytes());
        assert_eq!(read.as_ref(), Ok(operation));
    }

    #[test]
    fn an_operation_is_a_path_and_a_body() {
        check(&Operation::KeyList {}, "/key/list", "{}");
        check(
            &Operation::KeyRevoke { id: 7 },
            "/key/revoke",
            r#"{"id":7}"#,
        );
        let set = Operation::RecordSet {
            id: "x".into(),
            is_active: true,
        };
        check(&set, "/record/set", r#"{"id":"x","is_active":true}"#);
        let create = Operation::KeyCreate(NewKeyOrder {
            name: "n".into(),
            account: None,
            expires_at: None,
            scopes: None,
            limit: Some("1/2".into()),
        });
        let (path, body) = create.to_request();
        assert_eq!(Operation::from_request(&path, body.as_bytes()), Ok(create));
    }

    #[test]
    fn what_is_no_operation_is_refused() {
        for (path, body) in [
            ("/key/lost", "{}"),
            ("/key/revoke", "{}"),
            ("/key/revoke", r#"{"id":"7"}"#),
            ("/key/revoke", "7"),
            ("/key/revoke", ""),
            ("/", "{}"),
        ] {
            assert!(
                Operation::from_request(path, body.as_bytes()).is_err(),
                "{path} {body}"
            );
        }
    }
}
