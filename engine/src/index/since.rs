//! Documents posted before a time.

use crate::error::{Error, Result};
use crate::model::Timestamp;

use super::bisect::try_partition;
use super::segment::{Segment, SegmentView};

impl SegmentView<'_> {
    /// Count of the documents posted before `since`: they are the first ones. Cost: a binary
    /// search, which reads a document in each step.
    pub(crate) fn docs_since(&self, since: Timestamp) -> Result<u32> {
        docs_since(self.segment(), since)
    }
}

fn docs_since(segment: &Segment, since: Timestamp) -> Result<u32> {
    let since = since.to_string();
    let is_in_time = |doc: usize| {
        let time = segment.doc(doc as u32)?.time();
        // The texts of times sort like the times.
        let time = time.ok_or_else(|| Error::corrupt(segment.name(), 0, "documents with times"))?;
        Ok::<_, Error>(since.as_bytes() <= time)
    };
    let found = try_partition(0, segment.len() as usize, is_in_time)?;
    Ok(found as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::SegmentBuilder;
    use crate::model::{Record, RecordId};

    #[test]
    fn search_rule_3_6_documents_since_a_time_come_first() {
        let mut builder = SegmentBuilder::new();
        for number in 0..10_u8 {
            let mut record = Record::new(RecordId::from_bytes([number; 16]), "Ran");
            record.posted_at = Timestamp::from_seconds(i64::from(number / 2) * 10).unwrap();
            builder.add(&record).unwrap();
        }
        let mut bytes = Vec::new();
        builder.finish(&mut bytes).unwrap();
        let segment = Segment::open(bytes.into(), "test").unwrap();
        for (since, expected) in [(-1, 10), (0, 10), (1, 8), (10, 8), (40, 2), (41, 0)] {
            let since = Timestamp::from_seconds(since).unwrap();
            assert_eq!(docs_since(&segment, since).unwrap(), expected);
        }
    }
}
