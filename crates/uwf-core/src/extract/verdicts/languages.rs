//! Refusals in languages whose verbs and denials are not in the lists of words.

/// Beginnings of refusals, by language. In the others, the words of a review and their denials are enough.
const REFUSALS: &[(&str, &[&str])] = &[
    (
        "Arabic",
        &["لا أوافق", "لن أوافق", "لا يمكنني الموافقة", "لا أستطيع الموافقة", "غير موافق", "غير مقبول", "مرفوض", "أرفض"],
    ),
    ("Bulgarian", &["отхвърл"]),
    ("Chinese", &["拒绝", "驳回"]),
    ("Croatian", &["ne odobrav", "odbijam", "odbijen"]),
    ("Czech", &["neschval", "zamít", "nemohu schválit", "nemůžu schválit", "nelze schválit"]),
    ("Danish", &["godkender ikke", "ikke godkend", "afvis"]),
    ("Dutch", &["afgekeurd", "afgewezen", "wijs dit af", "wijs het af"]),
    ("Finnish", &["en hyväksy", "ei hyväksy", "en voi hyväksyä", "hylkään", "hylätty"]),
    ("Greek", &["δεν εγκρίν", "δεν μπορώ να εγκρίνω", "απορρίπτ"]),
    ("Hebrew", &["לא מאשר", "לא יכול לאשר", "לא יכולה לאשר", "לא ניתן לאשר", "לא אושר", "דוחה", "נדחה", "נדחית"]),
    ("Hindi", &["स्वीकृत नहीं", "स्वीकार नहीं", "मंज़ूर नहीं", "मंजूर नहीं", "अनुमोदित नहीं", "अस्वीक"]),
    ("Hungarian", &["nem hagyom jóvá", "nem hagyhatom jóvá", "nem fogadom el", "elutasít"]),
    (
        "Indonesian",
        &["tidak menyetujui", "tidak setuju", "tidak dapat menyetujui", "tidak bisa menyetujui", "menolak", "ditolak"],
    ),
    (
        "Japanese",
        &["却下", "承認できません", "承認できない", "承認しません", "マージすべきではありません", "マージできません"],
    ),
    ("Korean", &["승인할 수 없", "승인하지 않", "반려", "거부"]),
    ("Norwegian", &["godkjenner ikke", "ikke godkjen", "avvis"]),
    ("Persian", &["تایید نمی", "تأیید نمی", "رد می‌کنم", "رد شد"]),
    ("Romanian", &["nu aprob", "nu pot aproba", "resping", "respins"]),
    ("Slovak", &["neschvaľ", "zamieta"]),
    ("Thai", &["ไม่อนุมัติ", "ไม่ผ่าน", "ไม่เห็นด้วย", "ปฏิเสธ"]),
    ("Turkish", &["onaylamıyor", "onaylayam"]),
    ("Ukrainian", &["відхил"]),
    (
        "Vietnamese",
        &[
            "không chấp thuận",
            "không phê duyệt",
            "không đồng ý",
            "không thể chấp thuận",
            "không thể phê duyệt",
            "từ chối",
        ],
    ),
];

/// Words that accept in a language without spaces, where a denial precedes them.
const UNSPACED_ACCEPTS: &[&str] = &["批准", "合并", "通过", "同意", "接受"];

/// Their denials.
const UNSPACED_DENIALS: &[&str] = &["不", "未", "勿", "无法", "没有", "暂缓"];

/// Symbols between such a denial and the word.
const UNSPACED_MODALS: &[char] = &['能', '应', '予', '该', '可', '建', '议', '得', '宜', '会', '想', '被'];

/// Whether a text in lower case has a refusal.
pub(super) fn refuses(text: &str) -> bool {
    let is_denied = |at: usize| {
        let before = text[..at].trim_end_matches(UNSPACED_MODALS);
        UNSPACED_DENIALS.iter().any(|denial| before.ends_with(denial))
    };
    let is_ascii = text.is_ascii();
    let mut refusals =
        REFUSALS.iter().flat_map(|(_, refusals)| *refusals).filter(|refusal| !is_ascii || refusal.is_ascii());
    refusals.any(|refusal| has(text, refusal))
        || UNSPACED_ACCEPTS.iter().any(|word| text.match_indices(word).any(|(at, _)| is_denied(at)))
}

/// Whether a text has words. In Latin letters they begin a word.
fn has(text: &str, words: &str) -> bool {
    let is_latin = words.starts_with(|first: char| first < '\u{370}');
    let begins = |at: usize| !is_latin || !text[..at].ends_with(char::is_alphanumeric);
    text.match_indices(words).any(|(at, _)| begins(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_begin_words() {
        for (text, is) in [
            ("zamítám tuto změnu", true),
            ("ผมไม่อนุมัติการเปลี่ยนแปลงนี้", true),
            ("不予通过", true),
            ("我同意", false),
            ("it corresponds to respinsed", true),
            ("corespinsed", false),
        ] {
            assert_eq!(refuses(text), is, "{text}");
        }
    }
}
