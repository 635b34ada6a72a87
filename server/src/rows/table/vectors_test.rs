//! The vectors of tables: the cells of a text's rows, and the records that rows become.

use std::cell::RefCell;
use std::io::Read;

use serde_json::{Value, json};

use super::{ColumnMap, DateOrder, OpenedTable, TableOptions, TableRecord, each_row, open_table};

const VECTORS: &str = include_str!("../../../tests/vectors/import.jsonl");

/// The vectors that have a field.
fn vectors(field: &str) -> Vec<Value> {
    let vectors = VECTORS.lines().map(serde_json::from_str);
    let vectors = vectors.map(|vector: Result<Value, _>| vector.unwrap());
    vectors
        .filter(|vector| vector[field] != Value::Null)
        .collect()
}

/// The record of a row, or the reason why it is none.
fn read(vector: &Value) -> Value {
    let mut options = TableOptions {
        is_asked: vector.get("map").or(vector.get("dates")).is_some(),
        ..TableOptions::default()
    };
    options.rows.next_year = 2027;
    options.rows.dates = match vector["dates"].as_str() {
        Some("dmy") => Some(DateOrder::DayFirst),
        Some(_) => Some(DateOrder::MonthFirst),
        None => None,
    };
    if let Some(map) = vector["map"].as_str() {
        options.map = ColumnMap::parse(map).unwrap();
    }
    let text = vector["row"].to_string();
    let file = RefCell::new(None);
    let visit = Box::new(|record: &mut TableRecord| {
        file.replace(record.file.clone());
        Ok(None)
    });
    let opened = open_table(Box::new(text.as_bytes()), options, visit).unwrap();
    let OpenedTable::Foreign(mut table) = opened else {
        // Rows of our own stay as they are.
        return vector["row"].clone();
    };
    let mut line = String::new();
    if let Err(error) = table.read_to_string(&mut line) {
        return json!(error.to_string());
    }
    drop(table);
    let mut record: Value = serde_json::from_str(&line).unwrap();
    if let Some(fields) = record.as_object_mut() {
        // Columns without a field are named.
        fields.retain(|_, value| !value.is_null());
        fields.extend(file.take().map(|file| ("file".to_owned(), json!(file))));
    }
    record
}

#[test]
fn the_vectors_of_rows_become_records() {
    let vectors = vectors("row");
    for vector in &vectors {
        let expected = vector.get("expect").or(vector.get("reason")).unwrap();
        assert_eq!(&read(vector), expected, "{}", vector["row"]);
    }
    assert_eq!(vectors.len(), 19);
}

#[test]
fn the_vectors_of_texts_have_these_cells() {
    let vectors = vectors("table");
    for vector in &vectors {
        let text = vector["table"].as_str().unwrap();
        let bytes: Vec<u8> = match vector["encoding"].as_str() {
            // Of the characters that these have in common with Unicode.
            Some("cp1252") => text.chars().map(|c| u8::try_from(c).unwrap()).collect(),
            _ => text.as_bytes().to_vec(),
        };
        let mut rows = Vec::new();
        each_row(Box::new(&*bytes), &mut |row| {
            let cells = row.columns.iter().cloned().zip(row.cells.iter().cloned());
            rows.push(
                cells
                    .map(|(name, cell)| (name, json!(cell)))
                    .collect::<serde_json::Map<_, _>>(),
            );
        })
        .unwrap();
        let mut expected = vector["rows"].clone();
        for cell in expected
            .as_array_mut()
            .unwrap()
            .iter_mut()
            .flat_map(|row| row.as_object_mut().unwrap().values_mut())
        {
            if cell.is_number() {
                *cell = json!(cell.to_string());
            }
        }
        assert_eq!(json!(rows), expected, "{text}");
    }
    assert_eq!(vectors.len(), 11);
}
