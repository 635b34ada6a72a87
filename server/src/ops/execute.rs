//! All operations, by name.

use super::error::OperationError;
use super::operation::{OperationEntry, Operations};
use super::{
    accounts, api_keys, clock, cluster, files, import_paths, links, live, maintenance, records,
};

/// Every operation, in the lists of their files.
static OPERATIONS: [&[OperationEntry]; 10] = [
    records::OPERATIONS,
    api_keys::OPERATIONS,
    accounts::OPERATIONS,
    links::OPERATIONS,
    files::OPERATIONS,
    import_paths::OPERATIONS,
    maintenance::OPERATIONS,
    live::OPERATIONS,
    cluster::OPERATIONS,
    clock::OPERATIONS,
];

/// Executes the operation of this name. Arguments and answer are JSON.
///
/// Errors: there is no such operation, it does not take these arguments, or it fails.
pub async fn execute_named(
    operations: &Operations<'_>,
    name: &str,
    arguments: &[u8],
) -> Result<String, OperationError> {
    let mut entries = OPERATIONS.into_iter().flatten();
    match entries.find(|entry| entry.name == name) {
        Some(entry) => (entry.execute)(operations, arguments).await,
        None => Err(OperationError::UnknownOperation(name.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::ops::{CreateKey, Operation, RevokeKey, SetRecordActive};

    #[test]
    fn every_operation_has_a_name_of_its_own() {
        let names: Vec<&str> = OPERATIONS
            .into_iter()
            .flatten()
            .map(|entry| entry.name)
            .collect();
        let distinct: HashSet<&str> = names.iter().copied().collect();
        assert_eq!(distinct.len(), names.len());
    }

    #[track_caller]
    fn check<O: Operation + PartialEq + std::fmt::Debug>(
        operation: &O,
        name: &str,
        arguments: &str,
    ) {
        assert_eq!(O::NAME, name);
        assert_eq!(serde_json::to_string(operation).unwrap(), arguments);
        assert_eq!(serde_json::from_str::<O>(arguments).unwrap(), *operation);
    }

    #[test]
    fn an_operation_is_a_name_and_arguments() {
        check(&RevokeKey { id: 7 }, "key/revoke", r#"{"id":7}"#);
        let set = SetRecordActive {
            id: "x".into(),
            is_active: true,
        };
        check(&set, "record/set", r#"{"id":"x","is_active":true}"#);
        let create = CreateKey {
            name: "n".into(),
            account: None,
            expires_at: None,
            scopes: None,
            limit: Some("1/2".into()),
        };
        let arguments =
            r#"{"name":"n","account":null,"expires_at":null,"scopes":null,"limit":"1/2"}"#;
        check(&create, "key/create", arguments);
    }

    #[test]
    fn arguments_that_are_not_valid_are_rejected() {
        for arguments in ["{}", r#"{"id":"7"}"#, r#"{"id":7,"x":1}"#, "7", ""] {
            let read = serde_json::from_str::<RevokeKey>(arguments);
            assert!(read.is_err(), "{arguments}");
        }
    }
}
