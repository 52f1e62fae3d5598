//! The demo company's applicants: invented names, e-mail addresses on reserved domains, and reserved telephone numbers.

use std::collections::HashSet;

use shared::model::{Email, Name, Phone, Slug};

use super::dice::Dice;
use super::setting::{Outcome, text};

/// First names and family names that occur together, and where the people's telephone numbers are.
#[derive(Clone, Copy)]
struct Culture {
    first: [&'static str; 8],
    family: [&'static str; 8],
    phones: Phones,
}

/// Telephone numbers that a country reserves for fiction.
#[derive(Clone, Copy)]
enum Phones {
    France,
    Germany,
    UnitedKingdom,
    UnitedStates,
}

const CULTURES: [Culture; 14] = [
    Culture {
        first: ["Emma", "Zoë", "Marcus", "Ellen", "Dylan", "Grant", "Paige", "Owen"],
        family: ["Whitfield", "Brooks", "Calloway", "Mercer", "O’Neill", "Harding", "Lindqvist-Hall", "Tate"],
        phones: Phones::UnitedStates,
    },
    Culture {
        first: ["Jürgen", "Katharina", "Lukas", "Annika", "Sören", "Miriam", "Björn", "Theresa"],
        family: ["Müller", "Brandt", "Weiß", "Köhler", "Vogt", "Lindemann", "Schäfer", "Ritter"],
        phones: Phones::Germany,
    },
    Culture {
        first: ["Priya", "Arjun", "Ananya", "Rohan", "Kavya", "Vikram", "Meera", "Nikhil"],
        family: ["Raghunathan", "Mehta", "Banerjee", "Iyer", "Kulkarni", "Deshmukh", "Chandra", "Pillai"],
        phones: Phones::UnitedStates,
    },
    Culture {
        first: ["José", "Lucía", "Mateo", "Valentina", "Íñigo", "Camila", "Andrés", "Ximena"],
        family: ["García Peña", "Núñez", "Ibáñez", "Cárdenas", "Villanueva", "Ochoa", "Quiroga", "Salcedo"],
        phones: Phones::UnitedStates,
    },
    Culture {
        first: ["Chidi", "Ngozi", "Babatunde", "Amaka", "Femi", "Adaeze", "Tunde", "Ifeoma"],
        family: ["Okonkwo", "Adeyemi", "Eze", "Balogun", "Nwosu", "Olawale", "Ibekwe", "Afolabi"],
        phones: Phones::UnitedKingdom,
    },
    Culture {
        first: ["Mei", "Haoran", "Xiuying", "Jun", "Lihua", "Wei", "Yuxi", "Zhiyuan"],
        family: ["Zhang", "Huang", "Xu", "Liang", "Tang", "Deng", "Fang", "Qiu"],
        phones: Phones::UnitedStates,
    },
    Culture {
        first: ["Haruka", "Kenji", "Sakura", "Daichi", "Naoko", "Ryota", "Ayumi", "Tomohiro"],
        family: ["Tanabe", "Fujimoto", "Kurosawa", "Hayashi", "Nakagawa", "Ōno", "Shimizu", "Ueda"],
        phones: Phones::UnitedStates,
    },
    Culture {
        first: ["Fatima", "Omar", "Layla", "Yusuf", "Noor", "Karim", "Rania", "Tariq"],
        family: ["al-Masri", "Haddad", "Benali", "Khoury", "Rahmani", "Nasser", "Saleh", "Barakat"],
        phones: Phones::France,
    },
    Culture {
        first: ["Camille", "Jean-Luc", "Élodie", "Thibault", "Maëlle", "Gaspard", "Solène", "Rémi"],
        family: ["Lefèvre", "Dubois", "Garnier", "Rousseau", "d’Arcy", "Perrin", "Chevalier", "Marchand"],
        phones: Phones::France,
    },
    Culture {
        first: ["Agnieszka", "Paweł", "Małgorzata", "Łukasz", "Zofia", "Wojciech", "Kinga", "Bartosz"],
        family: ["Wójcik", "Kowalczyk", "Zieliński", "Dąbrowska", "Jabłoński", "Mazur", "Kaczmarek", "Lis"],
        phones: Phones::UnitedKingdom,
    },
    Culture {
        first: ["Ayşe", "Mehmet", "Elif", "Emre", "Zeynep", "Can", "Defne", "Kerem"],
        family: ["Yılmaz", "Şahin", "Öztürk", "Aydın", "Çelik", "Koç", "Arslan", "Güneş"],
        phones: Phones::Germany,
    },
    Culture {
        first: ["Thảo", "Minh", "Linh", "Quang", "Hương", "Khoa", "Ngọc", "Bảo"],
        family: ["Nguyễn", "Trần", "Phạm", "Võ", "Đặng", "Bùi", "Hồ", "Đỗ"],
        phones: Phones::UnitedStates,
    },
    Culture {
        first: ["Ingrid", "Åsa", "Magnus", "Sigrid", "Lars", "Freja", "Søren", "Astrid"],
        family: ["Bergström", "Dahl", "Hansen", "Nyström", "Østergaard", "Holm", "Lund", "Sjöberg"],
        phones: Phones::UnitedKingdom,
    },
    Culture {
        first: ["João", "Beatriz", "Thiago", "Larissa", "Caio", "Conceição", "Rafael", "Luísa"],
        family: ["Gonçalves", "Araújo", "Teixeira", "Fonseca", "Magalhães", "Sampaio", "Brandão", "Assunção"],
        phones: Phones::UnitedStates,
    },
];

/// An invented person.
pub(super) struct Person {
    pub(super) name: Name,
    pub(super) email: Email,
    pub(super) phone: Option<Phone>,
}

/// Invents people. No two have the same name.
#[derive(Default)]
pub(super) struct People {
    names: HashSet<String>,
    phones: HashSet<String>,
}

impl People {
    /// Invents another person.
    pub(super) fn next(&mut self, dice: &Dice) -> Outcome<Person> {
        let (name, culture) = loop {
            let culture = dice.pick(&CULTURES);
            let name = format!("{} {}", dice.pick(&culture.first), dice.pick(&culture.family));
            if self.names.insert(name.clone()) {
                break (name, culture);
            }
        };
        let domain = dice.pick(&["example.com", "example.org", "example.net"]);
        let email = format!("{}@{domain}", Slug::of(&name, "applicant").as_str().replace('-', "."));
        let phone = if dice.chance(80) { Some(self.phone(culture.phones, dice).parse()?) } else { None };
        Ok(Person { name: text(&name)?, email: email.parse()?, phone })
    }

    fn phone(&mut self, phones: Phones, dice: &Dice) -> String {
        loop {
            let number = match phones {
                Phones::France => format!("+33199{:06}", dice.below(10_000)),
                Phones::Germany => format!("+493023125{:03}", dice.below(1_000)),
                Phones::UnitedKingdom => format!("+447700900{:03}", dice.below(1_000)),
                Phones::UnitedStates => {
                    let area = dice.pick(&["206", "212", "312", "415", "512", "617"]);
                    format!("+1{area}55501{:02}", dice.below(100))
                }
            };
            if self.phones.insert(number.clone()) {
                return number;
            }
        }
    }
}
