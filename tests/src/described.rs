//! Answers of the API against its OpenAPI document.

use serde_json::Value;

/// An answer that came.
pub struct FoundAnswer<'a> {
    /// Its status.
    pub status: u16,
    /// The value of a field by its name in lower case.
    pub field: &'a dyn Fn(&str) -> Option<String>,
    /// Its body.
    pub body: &'a str,
}

/// Follows a reference of the document; returns any other value unchanged.
pub fn resolve<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    match value["$ref"].as_str() {
        Some(path) => document
            .pointer(&path[1..])
            .expect("a reference leads somewhere"),
        None => value,
    }
}

/// The first violation of a schema by a value, for the part of JSON Schema that the document uses.
pub fn fault(document: &Value, schema: &Value, value: &Value) -> Option<String> {
    let schema = resolve(document, schema);
    if let Some(choices) = schema["oneOf"].as_array() {
        let fits = choices
            .iter()
            .filter(|one| fault(document, one, value).is_none())
            .count();
        return (fits != 1).then(|| format!("{fits} of the choices fit {value}"));
    }
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let is_allowed = match &schema["type"] {
        Value::String(only) => only == kind,
        Value::Array(kinds) => kinds.iter().any(|one| one == kind),
        _ => true,
    };
    let is_within = value.as_i64().is_none_or(|number| {
        schema["minimum"].as_i64().is_none_or(|min| min <= number)
            && schema["maximum"].as_i64().is_none_or(|max| number <= max)
    });
    let values = schema["enum"].as_array();
    let is_listed = values.is_none_or(|values| values.contains(value));
    if !is_allowed || !is_within || !is_listed {
        return Some(format!("{value} does not fit {schema}"));
    }
    if let Some(items) = value.as_array() {
        return items
            .iter()
            .find_map(|item| fault(document, &schema["items"], item));
    }
    let fields = value.as_object()?;
    let required = schema["required"].as_array().into_iter().flatten();
    for name in required.filter_map(Value::as_str) {
        if !fields.contains_key(name) {
            return Some(format!("{name} is missing in {value}"));
        }
    }
    fields
        .iter()
        .find_map(|(name, field)| match &schema["properties"][name] {
            Value::Null => Some(format!("{name} is not described")),
            described => fault(document, described, field),
        })
}

/// Compares a response with its description: status, headers, body, and for an error the text of
/// the example.
pub fn check_answer(document: &Value, path: &str, answer: &FoundAnswer<'_>) {
    let status = answer.status.to_string();
    let described = &document["paths"][path]["get"]["responses"][&status];
    assert!(!described.is_null(), "{path}: {status} is not described");
    let described = resolve(document, described);
    for (name, header) in described["headers"].as_object().into_iter().flatten() {
        let value = (answer.field)(&name.to_ascii_lowercase());
        let value = value.unwrap_or_else(|| panic!("{path} {status}: no {name}"));
        if resolve(document, header)["schema"]["type"] == "integer" {
            value.parse::<u64>().expect(name);
        }
    }
    let Some(json) = described["content"].get("application/json") else {
        return;
    };
    assert_eq!(
        (answer.field)("content-type").as_deref(),
        Some("application/json"),
        "{path} {status}"
    );
    let body: Value = serde_json::from_str(answer.body).expect("it is JSON");
    assert_eq!(
        fault(document, &json["schema"], &body),
        None,
        "{path} {status}"
    );
    if 400 <= answer.status {
        assert_eq!(body, json["example"], "{path} {status}");
    }
}
