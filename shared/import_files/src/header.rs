//! What the columns of a spreadsheet mean.

use std::ops::ControlFlow;

use shared::model::{ImportColumn as Column, ImportField as Field, ImportMapping as Mapping};

use crate::Refusal;
use crate::cell::Cell;
use crate::record::{Record, Spreadsheet};

/// The number of rows among which the header is looked for.
const FIRST_ROWS: usize = 20;
/// The number of known names that make a row a header.
const MIN_KNOWN: usize = 2;
/// Byte order marks, also one that was read in a wrong encoding.
const MARKS: [&str; 2] = ["\u{FEFF}", "ï»¿"];

/// The names of columns that a spreadsheet of our own exports has, and no other one.
const OWN: [&str; 4] = ["id", "version", "candidate_stage", "updated_at"];

/// The names that columns have in plain English and in the files of Greenhouse, Lever, Recruitee and `PeopleForce`. The names of
/// the fields are known, too. They are compared folded. Of two columns with one field, the one whose name is first here counts before
/// the other.
const NAMES: &[(Field, &[&str])] = &[
    (Field::ExternalId, &["candidate id", "applicant id", "external id", "person id", "applicant reference"]),
    (Field::Name, &["full name", "candidate", "candidate name", "applicant", "applicant name"]),
    (Field::FirstName, &["given name", "forename", "candidate first name"]),
    (Field::LastName, &["surname", "family name", "candidate last name"]),
    (Field::Email, &["e-mail", "email address", "e-mail address", "email id", "mail", "candidate email"]),
    (
        Field::Phone,
        &[
            "phone number",
            "telephone",
            "telephone number",
            "tel",
            "contact number",
            "mobile",
            "mobile phone",
            "mobile number",
            "cell",
        ],
    ),
    (Field::Source, &["candidate source"]),
    (Field::Tags, &["label", "candidate tags", "skills"]),
    (
        Field::CreatedAt,
        &[
            "created",
            "created on",
            "date created",
            "created date",
            "create date",
            "added",
            "added on",
            "added at",
            "date added",
            "candidate created at",
        ],
    ),
    (Field::Resume, &["cv", "resume filename", "resume file", "resume name"]),
    (Field::ResumeUrl, &["resume link", "cv link", "cv url"]),
    (Field::Files, &["file", "file name", "attachment"]),
    (Field::Notes, &["note", "comment"]),
    (
        Field::Role,
        &[
            "role title",
            "applied for",
            "position applied for",
            "posting",
            "job",
            "job name",
            "job opening",
            "vacancy",
            "requisition",
            "job title",
            "position",
        ],
    ),
    (Field::RoleExternalId, &["job id", "requisition id", "position id"]),
    (Field::ApplicationExternalId, &["application id"]),
    (
        Field::AppliedAt,
        &[
            "applied",
            "applied on",
            "date applied",
            "date applied at",
            "application date",
            "applied date",
            "apply date",
        ],
    ),
    (
        Field::Stage,
        &[
            "current stage",
            "pipeline stage",
            "pipeline stage name",
            "interview stage",
            "client stage",
            "milestone",
        ],
    ),
    (Field::Status, &["application status"]),
    (
        Field::RejectionReason,
        &["reject reason", "disqualification reason", "archive reason", "reason for rejection"],
    ),
    (Field::RejectedAt, &["rejected on", "date rejected", "rejected date", "rejection date", "archive date"]),
];

/// The field that a column with this name has.
fn field_of_name(name: &str) -> Option<Field> {
    // csvkit writes each item of a list of JSON into a column of its own.
    let name = match name.rsplit_once('/') {
        Some((list, number))
            if list == Field::Tags.as_str() && number.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            list
        }
        _ => name,
    };
    let name = folded(name);
    let is_own = |field: &&Field| folded(field.as_str()) == name;
    let known = || NAMES.iter().find(|(_, names)| names.iter().any(|known| folded(known) == name));
    Field::ALL.iter().find(is_own).copied().or_else(|| known().map(|(field, _)| *field))
}

/// How well a column with this name is known to have the field, the best first.
fn rank(field: Option<Field>, name: &str) -> usize {
    let name = folded(name);
    let is_own = |field: Field| may_repeat(field) || folded(field.as_str()) == name;
    let Some(field) = field.filter(|field| !is_own(*field)) else { return 0 };
    let names = NAMES.iter().find(|(known, _)| *known == field).map(|(_, names)| *names);
    let place = names.and_then(|names| names.iter().position(|known| folded(known) == name));
    place.map_or(0, |place| place + 1)
}

/// Whether all columns with a field count together.
const fn may_repeat(field: Field) -> bool {
    matches!(field, Field::Tags | Field::Notes | Field::Files)
}

/// A name without case, spaces, punctuation and the `s` of a plural.
fn folded(name: &str) -> String {
    let plain: String = name
        .chars()
        .filter(|c| !c.is_whitespace() && !matches!(c, '-' | '_' | '.' | ':' | '*' | '"' | '\''))
        .flat_map(char::to_lowercase)
        .collect();
    match plain.strip_suffix('s') {
        Some(singular) if plain.len() > 3 && !plain.ends_with("ss") && !plain.ends_with("us") => {
            singular.to_owned()
        }
        _ => plain,
    }
}

/// The header of a file.
#[derive(Clone, Debug)]
pub(crate) struct Header {
    /// Its line.
    pub(crate) line: u64,
    /// The columns up to the last one with a name.
    pub(crate) columns: Vec<Column>,
    /// The places of the columns; of those with one field, the first one counts first.
    order: Vec<usize>,
}

/// What a row says about an application, apart from its role.
pub(crate) const OF_APPLICATION: [Field; 9] = [
    Field::ApplicationExternalId,
    Field::AppliedAt,
    Field::Stage,
    Field::Status,
    Field::RejectionReason,
    Field::RejectedBy,
    Field::RejectedAt,
    Field::Answers,
    Field::StageChanges,
];

impl Header {
    /// The place of the column with the ids of people, if the file is a spreadsheet of our own.
    pub(crate) fn own_ids(&self) -> Option<usize> {
        let place = |name: &str| self.columns.iter().position(|column| column.header == name);
        OWN.iter().all(|name| place(name).is_some()).then(|| place("id")).flatten()
    }

    /// The cells of a field, in the order in which they count.
    pub(crate) fn cells<'r>(&self, field: Field, record: &'r Record) -> impl Iterator<Item = &'r Cell> {
        let has_field =
            move |place: &&usize| self.columns.get(**place).is_some_and(|column| column.field == Some(field));
        self.order.iter().filter(has_field).filter_map(|place| record.cells.get(*place))
    }

    /// What a reader of the whole file should know: which fields several columns have.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let fields = Field::ALL.into_iter().filter(|field| !may_repeat(*field));
        let warning = |field: Field| {
            let columns = self.order.iter().filter_map(|place| self.columns.get(*place));
            let names: Vec<_> = columns
                .filter(|column| column.field == Some(field))
                .map(|column| format!("\"{}\"", column.header))
                .collect();
            let text = || {
                format!(
                    "The columns {} all have `{}`: in each row, the first of them that is filled counts",
                    names.join(", "),
                    field.as_str()
                )
            };
            (names.len() > 1).then(text)
        };
        fields.filter_map(warning).collect()
    }

    /// The number of columns whose meaning is known.
    pub(crate) fn known(&self) -> usize {
        self.columns.iter().filter(|column| column.field.is_some()).count()
    }

    /// Whether a column names the roles of applications.
    pub(crate) fn names_roles(&self) -> bool {
        let of_role = [Field::Role, Field::RoleId, Field::RoleExternalId];
        self.columns.iter().any(|column| column.field.is_some_and(|field| of_role.contains(&field)))
    }

    /// The names of the columns that say something about applications, apart from their roles.
    pub(crate) fn of_applications(&self) -> Vec<&str> {
        let is_of_application = |field: Field| OF_APPLICATION.contains(&field);
        let columns = self.columns.iter().filter(|column| column.field.is_some_and(is_of_application));
        columns.map(|column| column.header.as_str()).collect()
    }

    /// Whether a record repeats the header.
    pub(crate) fn is_repeated_by(&self, record: &Record) -> bool {
        let names = self.columns.iter().map(|column| column.header.as_str());
        record.width() == self.columns.len() && names.eq(name_cells(record))
    }

    /// The number of columns.
    pub(crate) fn width(&self) -> usize {
        self.columns.len()
    }

    /// The header as it can be sent with another file.
    pub(crate) fn mapping(&self) -> Mapping {
        Mapping { header_row: Some(self.line), columns: self.columns.clone() }
    }
}

/// The cells of a header, without marks.
fn name_cells(record: &Record) -> impl Iterator<Item = &str> {
    let without_marks = |text| MARKS.iter().fold(text, |text: &str, mark| text.trim_start_matches(mark));
    record.cells.iter().take(record.width()).map(move |cell| without_marks(&cell.text).trim_matches('"'))
}

/// What the first rows of a file have.
pub(crate) enum Found {
    /// A header.
    Header(Header),
    /// A row that may be one, because it has one known name, if there is any. A row without one may be about a person.
    Unknown(Option<Header>),
}

/// Finds the header among the first rows of a file, as it is read now: the row that the mapping names, else the first with two
/// known names.
pub(crate) fn find_in(file: &mut impl Spreadsheet, mapping: Option<&Mapping>) -> Result<Found, Refusal> {
    let wanted = mapping.and_then(|mapping| mapping.header_row);
    let (mut seen, mut found, mut unknown) = (0, None, None::<Header>);
    let mut look = |record: Record| {
        seen += 1;
        let header = match wanted {
            Some(line) if record.line < line => return ControlFlow::Continue(()),
            Some(line) if record.line > line => return ControlFlow::Break(()),
            _ => Header::of(&record, mapping),
        };
        let is_header = |header: &Header| wanted.is_some() || header.known() >= MIN_KNOWN;
        match header {
            Ok(header) if is_header(&header) => found = Some(Ok(header)),
            Err(problem) if wanted.is_some() || problem.is_of_header => found = Some(Err(problem.text)),
            // Another row may have the names.
            Ok(header) => {
                let is_better = unknown.as_ref().is_none_or(|other| other.known() < header.known());
                if wanted.is_none() && is_better && header.known() > 0 {
                    unknown = Some(header);
                }
            }
            Err(_) => {}
        }
        let is_over = found.is_some() || (wanted.is_none() && seen >= FIRST_ROWS);
        if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    file.each_record(&mut look)?;
    match found {
        Some(header) => header.map(Found::Header).map_err(Refusal::Mapping),
        None => Ok(Found::Unknown(unknown)),
    }
}

/// Why the columns of a row can't be understood.
struct Problem {
    text: String,
    /// Whether the row is the header all the same.
    is_of_header: bool,
}

impl Header {
    fn of(record: &Record, mapping: Option<&Mapping>) -> Result<Self, Problem> {
        let names: Vec<_> = name_cells(record).map(ToOwned::to_owned).collect();
        let mut columns: Vec<Option<Option<Field>>> = vec![None; names.len()];
        let given = mapping.map(|mapping| mapping.columns.as_slice()).unwrap_or_default();
        let is_complete = given.len() == names.len();
        for (number, Column { header, field }) in given.iter().enumerate() {
            let is_named = |(_, name): &(usize, &String)| folded(name) == folded(header);
            let mut places = names.iter().enumerate().filter(is_named).map(|(place, _)| place);
            let place = match (places.next(), places.next()) {
                // A complete list has the columns in their order, so it tells apart two of one name.
                // It may have other letters in another encoding.
                (None, _)
                    if is_complete && names.get(number).is_some_and(|name| field_of_name(name).is_none()) =>
                {
                    number
                }
                _ if is_complete && names.get(number).is_some_and(|name| folded(name) == folded(header)) => {
                    number
                }
                (Some(place), None) => place,
                (Some(_), Some(_)) => {
                    let text = format!(
                        "Two columns are called \"{header}\". Send all columns of the file, in their order, in `mapping`"
                    );
                    return Err(Problem { text, is_of_header: true });
                }
                (None, _) => {
                    let text = format!("The file has no column that is called \"{header}\"");
                    return Err(Problem { text, is_of_header: false });
                }
            };
            if let Some(column) = columns.get_mut(place) {
                *column = Some(*field);
            }
        }
        let is_given = |field: Field| given.iter().any(|column| column.field == Some(field));
        let guessed =
            |name: &str| field_of_name(name).filter(|field| may_repeat(*field) || !is_given(*field));
        let columns = names.into_iter().zip(columns).map(|(name, given)| {
            let field = given.unwrap_or_else(|| guessed(&name));
            Column { header: name, field }
        });
        let columns: Vec<_> = columns.collect();
        let mut order: Vec<_> = (0..columns.len()).collect();
        order.sort_by_key(|place| columns.get(*place).map(|column| rank(column.field, &column.header)));
        let header = Self { line: record.line, columns, order };
        header.check_repeated()?;
        Ok(header)
    }

    /// Fails if two columns of one name have what a person has once: the second one may be about somebody else.
    fn check_repeated(&self) -> Result<(), Problem> {
        for (place, column) in self.columns.iter().enumerate() {
            let Some(field) = column.field.filter(|field| !may_repeat(*field)) else { continue };
            let before = self.columns.iter().take(place).find(|before| {
                before.field == Some(field) && folded(&before.header) == folded(&column.header)
            });
            if let Some(before) = before {
                let text = format!(
                    "The columns \"{}\" and \"{}\" both have `{}`. Say with `mapping` which one counts",
                    before.header,
                    column.header,
                    field.as_str()
                );
                return Err(Problem { text, is_of_header: self.known() >= MIN_KNOWN });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(cells: &[&str]) -> Record {
        Record { line: 1, empty: 0, cells: cells.iter().map(|cell| Cell::text(cell)).collect() }
    }

    fn fields(cells: &[&str], mapping: Option<&Mapping>) -> Result<Vec<Option<Field>>, String> {
        let header = Header::of(&record(cells), mapping).map_err(|problem| problem.text)?;
        Ok(header.columns.iter().map(|column| column.field).collect())
    }

    fn column(header: &str, field: Option<Field>) -> Column {
        Column { header: header.to_owned(), field }
    }

    #[test]
    fn names_are_known_in_any_spelling() {
        for (name, field) in [
            ("Candidate ID", Some(Field::ExternalId)),
            ("E-mail", Some(Field::Email)),
            ("EMAILS", Some(Field::Email)),
            ("Full-Name", Some(Field::Name)),
            ("full_name", Some(Field::Name)),
            ("Sources", Some(Field::Source)),
            ("Date-Added", Some(Field::CreatedAt)),
            ("Jobs", Some(Field::Role)),
            ("Resume Filename", Some(Field::Resume)),
            ("tags/0", Some(Field::Tags)),
            ("Milestone", Some(Field::Stage)),
            ("Pipeline stage name", Some(Field::Stage)),
            ("client_stage", Some(Field::Stage)),
            ("Date applied at", Some(Field::AppliedAt)),
            ("applicant_reference", Some(Field::ExternalId)),
            ("Skills", Some(Field::Tags)),
            ("Position Applied For", Some(Field::Role)),
            ("Tel.", Some(Field::Phone)),
            ("Email ID", Some(Field::Email)),
            ("Candidate Status", None),
            ("Title", None),
            ("Company", None),
            ("Years", None),
            ("id", None),
            ("", None),
        ] {
            assert_eq!(field_of_name(name), field, "{name}");
        }
    }

    #[test]
    fn each_name_leads_to_one_field() {
        for (field, names) in NAMES {
            for name in *names {
                assert_eq!(field_of_name(name), Some(*field), "{name}");
            }
        }
    }

    #[test]
    fn marks_before_the_first_name_are_no_part_of_it() {
        for first in ["\u{FEFF}Name", "ï»¿Name", "ï»¿ï»¿Name"] {
            assert_eq!(
                fields(&[first, "Email"], None),
                Ok(vec![Some(Field::Name), Some(Field::Email)]),
                "{first}"
            );
        }
    }

    #[test]
    fn a_mapping_names_columns_and_the_others_are_understood() {
        let mapping = |columns| Mapping { header_row: None, columns };
        let phone = mapping(vec![column("telefon", Some(Field::Phone))]);
        let expected = vec![Some(Field::Name), Some(Field::Phone), None];
        assert_eq!(fields(&["Name", "Telefon", "Nr."], Some(&phone)), Ok(expected));
        // A field of the mapping is not looked for elsewhere.
        let other = mapping(vec![column("Private mail", Some(Field::Email))]);
        assert_eq!(fields(&["Email", "Private mail"], Some(&other)), Ok(vec![None, Some(Field::Email)]));
        assert!(fields(&["Name"], Some(&phone)).unwrap_err().contains("no column"));
        // Of two columns with one name, only a complete list can name one.
        let two = mapping(vec![column("Date", Some(Field::CreatedAt))]);
        assert!(fields(&["Name", "Date", "Date"], Some(&two)).unwrap_err().contains("Two columns"));
        let complete = vec![
            column("Name", Some(Field::Name)),
            column("Date", None),
            column("Date", Some(Field::CreatedAt)),
        ];
        let expected = Ok(vec![Some(Field::Name), None, Some(Field::CreatedAt)]);
        assert_eq!(fields(&["Name", "Date", "Date"], Some(&mapping(complete))), expected);
    }

    #[test]
    fn of_two_columns_with_one_field_the_better_known_counts_first() {
        let names = record(&["Name", "Job Title", "Mobile", "Phone", "Notes", "Comment", "Applied for"]);
        let header = Header::of(&names, None).map_err(|problem| problem.text).unwrap();
        let row = record(&["Anna", "Clerk", "2", "1", "a", "b", "Driver"]);
        let cells = |field| header.cells(field, &row).map(|cell| cell.text.as_str()).collect::<Vec<_>>();
        assert_eq!(cells(Field::Phone), ["1", "2"]);
        assert_eq!(cells(Field::Role), ["Driver", "Clerk"]);
        assert_eq!(cells(Field::Notes), ["a", "b"]);
        let warnings = header.warnings();
        assert_eq!(warnings.len(), 2);
        assert_eq!(
            warnings[0],
            "The columns \"Phone\", \"Mobile\" all have `phone`: in each row, the first of them that is filled counts"
        );
        // The second one may be of a recruiter.
        for second in ["Email", "E-mail"] {
            assert!(fields(&["Name", "Email", second], None).unwrap_err().contains("both have `email`"));
        }
    }
}
