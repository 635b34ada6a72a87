//! Answers for people: rows under a header, and facts with names.

use serde_json::Value;

use crate::ops::DayShown;

/// A column of a table: its name, and its cell for an item.
pub(super) type TableColumn<T> = (&'static str, fn(&T) -> String);

/// Items under a header, one a line.
pub(super) fn table<T>(items: &[T], columns: &[TableColumn<T>]) -> String {
    let header = columns.iter().map(|(name, _)| (*name).to_owned());
    let row = |item: &T| columns.iter().map(|(_, cell)| cell(item)).collect();
    let mut rows: Vec<Vec<String>> = vec![header.collect()];
    rows.extend(items.iter().map(row));
    aligned(&rows)
}

/// Rows of cells, every column as wide as its widest cell.
pub(super) fn aligned(rows: &[Vec<String>]) -> String {
    let mut widths: Vec<usize> = Vec::new();
    for row in rows {
        widths.resize(widths.len().max(row.len()), 0);
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(cell);
            let fill = width - cell.chars().count() + 2;
            line.push_str(&" ".repeat(fill));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// The value of a setting for people.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "-".into(),
        other => other.to_string(),
    }
}

/// Facts, one a line, their values under each other.
pub(super) fn facts(facts: &[(&str, String)]) -> String {
    let widest = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut out = String::new();
    for (name, value) in facts {
        let line = format!("{name:widest$}  {value}");
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// Usage per day.
pub(super) fn usage_table(days: &[DayShown]) -> String {
    if days.is_empty() {
        return "not used in the last 30 days\n".into();
    }
    table(
        days,
        &[
            ("DAY", |day| day.day.clone()),
            ("REQUESTS", |day| day.requests.to_string()),
            ("DOWNLOADS", |day| day.downloads.to_string()),
            ("4XX", |day| day.client_errors.to_string()),
            ("429", |day| day.limited.to_string()),
        ],
    )
}

/// Bytes in the unit that keeps the number short.
pub(super) fn bytes(count: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    for (unit, unit_bytes) in UNITS {
        if unit_bytes <= count {
            let tenths = u128::from(count) * 10 / u128::from(unit_bytes);
            return format!("{}.{} {unit}", tenths / 10, tenths % 10);
        }
    }
    format!("{count} B")
}

/// A value that may be absent.
pub(super) fn or_dash(value: Option<&String>) -> String {
    value.map_or_else(|| "-".to_owned(), Clone::clone)
}

/// A time that may never come, or may not have come yet.
pub(super) fn or_never(value: Option<&String>) -> String {
    value.map_or_else(|| "never".to_owned(), Clone::clone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [("1", "añejo…", "x"), ("100", "", "")];
        let columns: [TableColumn<(&str, &str, &str)>; 3] = [
            ("ID", |row| row.0.to_owned()),
            ("NAME", |row| row.1.to_owned()),
            ("X", |row| row.2.to_owned()),
        ];
        let expected = "ID   NAME    X\n1    añejo…  x\n100\n";
        assert_eq!(table(&rows, &columns), expected);
        assert_eq!(table(&[], &columns[..1]), "ID\n");
    }

    #[test]
    fn bytes_are_short() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(64 << 20), "64.0 MiB");
        assert_eq!(bytes(u64::MAX), "17179869183.9 GiB");
    }

    #[test]
    fn values_stand_under_each_other() {
        let shown = facts(&[("a", "1".into()), ("long", String::new())]);
        assert_eq!(shown, "a     1\nlong\n");
    }
}
