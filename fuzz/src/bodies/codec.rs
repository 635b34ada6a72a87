//! Stored records.

use subcat_engine::{
    RecordId,
    internals::{decode_record, encode_record},
};

use crate::choices::Choices;
use crate::records::record;

/// A stored record is read back unchanged. Other bytes are refused, or are a record for which the
/// same holds.
pub fn record_codec(data: &[u8]) {
    let id = RecordId::from_bytes([7; 16]);
    if let Ok(read) = decode_record(id, data) {
        let again = decode_record(id, &encode_record(&read, Vec::new()));
        assert_eq!(again.ok().as_ref(), Some(&read));
    }
    let mut choices = Choices::from_bytes(data);
    let record = record(&mut choices);
    let mut bytes = encode_record(&record, Vec::new());
    let read = decode_record(record.id, &bytes).expect("what was encoded is decoded");
    assert_eq!(read, record);
    let place = choices.below(bytes.len().min(1 << 16));
    bytes[place] ^= choices.byte();
    // Damaged bytes may still be a record; decoding must only not panic.
    let _ = decode_record(record.id, &bytes);
    assert!(decode_record(record.id, &bytes[..place]).is_err());
}
