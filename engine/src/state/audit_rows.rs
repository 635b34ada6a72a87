//! Application of the entries of the audit log.

use std::ops::ControlFlow;

use super::apply::EventStep;
use super::event::Outcome;
use super::tables::{AUDIT, AuditClass, LAST_AUDIT, META, audit_row, audit_rows};
use crate::codec::{StoredValue, decode_number, encode_number};
use crate::error::Result;
use crate::limits::SIGN_IN_ENTRIES_OF_ACCOUNT_MAX;
use crate::model::AuditEntry;
use crate::store::{ScanOrder, Span};

/// A visitor of rows of the log: the key of each, and its entry, if it is whole.
type EachEntry<'e> = dyn FnMut(&[u8], Option<AuditEntry>) -> ControlFlow<()> + 'e;

impl EventStep<'_, '_> {
    /// Adds an entry to the audit log. When a class has too many entries its oldest one is dropped;
    /// for sign-ins, the oldest of the same kind and account, too.
    pub(super) fn audit(&mut self, entry: &AuditEntry, class: AuditClass) -> Result<Outcome> {
        let number = self.next_number(LAST_AUDIT)?;
        let mut count = self.entries_count(class)?;
        if class == AuditClass::SignIn {
            count -= self.drop_surplus_sign_ins(entry)?;
        }
        let row_key = audit_row(number, class);
        self.rows.put(AUDIT, &row_key, &entry.encode())?;
        count += 1;
        if class.entries_max() < count && self.drop_oldest(class)? {
            count -= 1;
        }
        let count = encode_number(count);
        self.rows.put(META, class.count_row(), &count)?;
        Ok(Outcome::Done)
    }

    fn entries_count(&self, class: AuditClass) -> Result<u64> {
        if let Some(stored) = self.rows.get(META, class.count_row())? {
            return decode_number(&stored);
        }
        // A directory of a version that did not count them.
        let mut count = 0;
        self.each_entry(class, &mut |_, _| {
            count += 1;
            ControlFlow::Continue(())
        })?;
        Ok(count)
    }

    /// Drops the oldest sign-ins of the account and kind of `entry` to make space for it. Returns
    /// their count.
    fn drop_surplus_sign_ins(&mut self, entry: &AuditEntry) -> Result<u64> {
        let mut kept = Vec::new();
        self.each_entry(AuditClass::SignIn, &mut |row_key, known| {
            let is_alike =
                |known: &AuditEntry| known.account == entry.account && known.action == entry.action;
            if known.is_some_and(|known| is_alike(&known)) {
                kept.push(row_key.to_vec());
            }
            ControlFlow::Continue(())
        })?;
        let surplus = (kept.len() + 1).saturating_sub(SIGN_IN_ENTRIES_OF_ACCOUNT_MAX);
        for row_key in kept.iter().take(surplus) {
            self.rows.remove(AUDIT, row_key)?;
        }
        Ok(surplus as u64)
    }

    fn drop_oldest(&mut self, class: AuditClass) -> Result<bool> {
        let mut oldest = None;
        self.each_entry(class, &mut |row_key, _| {
            oldest = Some(row_key.to_vec());
            ControlFlow::Break(())
        })?;
        match oldest {
            Some(row_key) => self.rows.remove(AUDIT, &row_key),
            None => Ok(false),
        }
    }

    /// Visits the entries of a class, oldest first; a damaged one is `None`.
    fn each_entry(&self, class: AuditClass, each: &mut EachEntry<'_>) -> Result<()> {
        let (from, to) = audit_rows(class);
        let span = Span {
            from: &from,
            to: Some(&to),
            order: ScanOrder::Ascending,
        };
        self.rows.inspect(AUDIT, span, &mut |row_key, value| {
            Ok(each(row_key, value.and_then(AuditEntry::decode).ok()))
        })
    }
}
