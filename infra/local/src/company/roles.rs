//! The demo company's roles and job postings.

use shared::clock::Timestamp;
use shared::id::Id;
use shared::model::{
    Day, EmploymentType, Lines, Pay, Places, Posting, PostingContent, RemotePolicy, Role, RoleContent,
    Salary, Slug, TimeZoneName,
};
use shared::store::Transaction;

use super::questions::{OF_ENGINEERS, OF_SUPPORT, PlannedQuestion, planned};
use super::setting::{Company, Outcome, days, hours, text};

/// A role as the company planned it.
pub(super) struct RolePlan {
    title: &'static str,
    department: &'static str,
    location: &'static str,
    country: &'static str,
    remote_policy: RemotePolicy,
    employment_type: EmploymentType,
    salary: (i64, i64),
    currency: &'static str,
    /// The number of days before the start when the role was opened, or created if it is a draft.
    opened: i64,
    fate: Fate,
    /// The number of days after the start until the last day to apply.
    closes_in: Option<i64>,
    /// The number of people who apply for this role first.
    pub(super) applicants: u64,
    /// The number of people who may be hired.
    pub(super) hires: u64,
    about: &'static str,
    tasks: [&'static str; 3],
    requirements: [&'static str; 3],
}

/// What became of a role, and how many days before the start.
#[derive(Clone, Copy)]
enum Fate {
    Draft,
    Open,
    Paused(i64),
    Closed(i64),
}

/// A role with its past.
pub(super) struct PlannedRole {
    pub(super) plan: &'static RolePlan,
    /// The role when it was open.
    pub(super) open: Role,
    /// The role today.
    pub(super) role: Role,
    pub(super) posting: Option<Posting>,
}

impl PlannedRole {
    /// When the role was opened.
    pub(super) fn opened_at(&self) -> Option<Timestamp> {
        self.role.opened_at
    }

    /// When applications were last possible, if they no longer are.
    pub(super) fn ended_at(&self) -> Option<Timestamp> {
        matches!(self.plan.fate, Fate::Paused(_) | Fate::Closed(_)).then_some(self.role.updated_at)
    }

    /// When the role was closed.
    pub(super) fn closed_at(&self) -> Option<Timestamp> {
        matches!(self.plan.fate, Fate::Closed(_)).then_some(self.role.updated_at)
    }

    /// Whether the role is open today.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.plan.fate, Fate::Open)
    }
}

impl RolePlan {
    /// Carries out the plan.
    pub(super) fn carry_out(&'static self, company: &Company<'_>) -> Outcome<PlannedRole> {
        let opened_at = days(company.now, self.opened);
        let created_at = hours(opened_at, -26);
        let mut ids = company.ids_at(created_at);
        let mut content = self.content()?;
        content.closes_on = self.closes_in.map(|ahead| Day::of(days(company.now, -ahead)).date());
        let draft = Role::draft(ids.next(), content, created_at);
        let draft =
            draft.closing_in(&TimeZoneName::UTC, created_at).map_err(|_| "the role closes in the past")?;
        if matches!(self.fate, Fate::Draft) {
            return Ok(PlannedRole { plan: self, open: draft.clone(), role: draft, posting: None });
        }
        ids = company.ids_at(hours(opened_at, -25));
        let id = ids.next();
        let content = self.posting_content(id)?;
        let posting = Posting::draft(id, &draft, self.slug(), content, hours(opened_at, -25));
        let open = draft.link(posting.link(), posting.created_at).publish(opened_at)?;
        let posting = posting.publish(&open, opened_at)?;
        let role = match self.fate {
            Fate::Draft | Fate::Open => open.clone(),
            Fate::Paused(ago) => open.clone().pause(days(company.now, ago))?,
            Fate::Closed(ago) => open.clone().close(days(company.now, ago)),
        };
        // A closed role takes its posting offline.
        let posting = match self.fate {
            Fate::Closed(_) => posting.unpublish(role.updated_at),
            Fate::Draft | Fate::Open | Fate::Paused(_) => posting,
        };
        Ok(PlannedRole { plan: self, open, role, posting: Some(posting) })
    }

    fn slug(&self) -> Slug {
        Slug::of(self.title, "job")
    }

    fn content(&self) -> Outcome<RoleContent> {
        let (low, high) = self.salary;
        let salary = Pay::annual(Salary::new(low), Salary::new(high)).ok_or("not a range")?;
        let tasks = self.tasks.map(|task| format!("- {task}\n")).concat();
        let description = format!(
            "{}\n\n## What you will do\n\n{tasks}\n## About Acme\n\nAcme plans the routes of **cargo bikes and electric \
             vans** in 40 cities. We are 120 people in Berlin, London and New York, and we deliver on time because \
             we plan well. You get 30 days of holiday, a budget for learning, and a bicycle.",
            self.about
        );
        let mut content = RoleContent::titled(text(self.title)?);
        content.department = Some(text(self.department)?);
        content.description = Some(text(&description)?);
        content.places = Places::named(Some(text(self.location)?), Some(self.country.parse()?));
        content.employment_type = Some(self.employment_type);
        content.pay = salary.in_currency(Some(self.currency.parse()?));
        Ok(content.with_remote_policy(Some(self.remote_policy)))
    }

    /// The questions of the posting.
    pub(super) fn questions(&self) -> &'static [PlannedQuestion] {
        match self.title {
            "Frontend Engineer" => OF_ENGINEERS,
            "Customer Success Manager" => OF_SUPPORT,
            _ => &[],
        }
    }

    /// The content of the posting with this identifier.
    fn posting_content(&self, id: Id) -> Outcome<PostingContent> {
        let requirements = self.requirements.map(|requirement| format!("- {requirement}\n")).concat();
        let requirements: Lines<20_000> = text(&requirements)?;
        let mut last = id;
        let next = || {
            last = Id::new(last.get() + 1).unwrap_or(Id::LAST);
            last
        };
        let questions = planned(self.questions(), next)?;
        Ok(PostingContent { requirements: Some(requirements), questions, ..PostingContent::default() })
    }
}

impl PlannedRole {
    /// Inserts the role and its posting.
    pub(super) fn insert(&self, transaction: &mut Transaction) -> Outcome<()> {
        match &self.posting {
            None => transaction.insert_role(&self.role)?,
            Some(posting) => {
                transaction.insert_role_and_posting(&self.role, posting, &self.plan.slug(), 1)?;
            }
        }
        Ok(())
    }
}

/// The roles, in the order in which people apply for them.
pub(super) const ROLES: [RolePlan; 12] = [
    RolePlan {
        title: "Staff Backend Engineer",
        department: "Engineering",
        location: "Berlin",
        country: "DE",
        remote_policy: RemotePolicy::Hybrid,
        employment_type: EmploymentType::FullTime,
        salary: (95_000, 120_000),
        currency: "EUR",
        opened: 55,
        fate: Fate::Open,
        closes_in: None,
        applicants: 20,
        hires: 1,
        about: "You will lead the design of the services that plan two million deliveries a day.",
        tasks: [
            "Design and run services in Rust on PostgreSQL and Kafka",
            "Make the planner answer within a second while the fleet doubles",
            "Coach five engineers, and review designs before code",
        ],
        requirements: [
            "Eight years of backend work, three of them with distributed systems",
            "You have run what you built, and been paged for it",
            "You write clear English",
        ],
    },
    RolePlan {
        title: "Frontend Engineer",
        department: "Engineering",
        location: "Remote",
        country: "DE",
        remote_policy: RemotePolicy::Remote,
        employment_type: EmploymentType::FullTime,
        salary: (65_000, 85_000),
        currency: "EUR",
        opened: 49,
        fate: Fate::Open,
        closes_in: Some(30),
        applicants: 24,
        hires: 2,
        about: "Dispatchers look at our map for eight hours a day. You will make it fast and calm.",
        tasks: [
            "Build the dispatcher's map in TypeScript and WebGL",
            "Keep every page accessible and below 200 KB",
            "Sit with dispatchers once a month, and fix what annoys them",
        ],
        requirements: [
            "Four years of frontend work with TypeScript",
            "You know HTML and CSS well enough not to need a framework for everything",
            "You have shipped something that people use every day",
        ],
    },
    RolePlan {
        title: "Site Reliability Engineer",
        department: "Engineering",
        location: "Dublin",
        country: "IE",
        remote_policy: RemotePolicy::Hybrid,
        employment_type: EmploymentType::FullTime,
        salary: (80_000, 100_000),
        currency: "EUR",
        opened: 42,
        fate: Fate::Open,
        closes_in: None,
        applicants: 12,
        hires: 1,
        about: "When the planner stops, 9,000 riders stop. You will see to it that it does not.",
        tasks: [
            "Own the error budgets of our twelve services",
            "Automate what we still do by hand, beginning with failovers",
            "Lead reviews of incidents, without blame",
        ],
        requirements: [
            "Experience with Kubernetes and Terraform in production",
            "You measure before you change",
            "Readiness to be on call one week in six",
        ],
    },
    RolePlan {
        title: "Engineering Manager",
        department: "Engineering",
        location: "Berlin",
        country: "DE",
        remote_policy: RemotePolicy::Hybrid,
        employment_type: EmploymentType::FullTime,
        salary: (100_000, 125_000),
        currency: "EUR",
        opened: 46,
        fate: Fate::Paused(9),
        closes_in: None,
        applicants: 9,
        hires: 0,
        about: "You will lead the eight people who build our routing engine.",
        tasks: [
            "Hire two engineers, and help six to grow",
            "Agree with Product on what to build, and on what not to build",
            "Keep the team's promises realistic",
        ],
        requirements: [
            "Three years as a manager of engineers",
            "You can still read a pull request",
            "You give feedback early and kindly",
        ],
    },
    RolePlan {
        title: "Machine Learning Engineer",
        department: "Data",
        location: "London",
        country: "GB",
        remote_policy: RemotePolicy::Hybrid,
        employment_type: EmploymentType::FullTime,
        salary: (75_000, 95_000),
        currency: "GBP",
        opened: 35,
        fate: Fate::Open,
        closes_in: None,
        applicants: 16,
        hires: 0,
        about: "You will predict how long a delivery takes: the stairs, the bell, the traffic.",
        tasks: [
            "Train and serve models in Python and PyTorch",
            "Find out which of our data is wrong",
            "Explain the models to dispatchers, who overrule them when they should",
        ],
        requirements: [
            "Two models in production that you can talk about",
            "Solid statistics",
            "You prefer a simple model that works to a clever one that might",
        ],
    },
    RolePlan {
        title: "Senior Product Manager",
        department: "Product",
        location: "New York",
        country: "US",
        remote_policy: RemotePolicy::Hybrid,
        employment_type: EmploymentType::FullTime,
        salary: (150_000, 180_000),
        currency: "USD",
        opened: 39,
        fate: Fate::Open,
        closes_in: None,
        applicants: 14,
        hires: 1,
        about: "You will decide what 300 retailers see when they ask where their parcels are.",
        tasks: [
            "Own the roadmap of our customer portal",
            "Talk to five customers a week",
            "Write down decisions, with their reasons",
        ],
        requirements: [
            "Five years in product, some of them in logistics or retail",
            "You are comfortable with SQL",
            "You say no often and well",
        ],
    },
    RolePlan {
        title: "UX Researcher",
        department: "Design",
        location: "Lisbon",
        country: "PT",
        remote_policy: RemotePolicy::Remote,
        employment_type: EmploymentType::PartTime,
        salary: (32_000, 40_000),
        currency: "EUR",
        opened: 27,
        fate: Fate::Open,
        closes_in: None,
        applicants: 9,
        hires: 0,
        about: "Riders use our app with gloves, in the rain, while someone honks. You will find out what they need.",
        tasks: [
            "Ride along, watch and listen",
            "Run usability tests every second week",
            "Turn what you learned into three pages that people read",
        ],
        requirements: [
            "Three years of qualitative research",
            "Portuguese and English",
            "You can ride a bicycle",
        ],
    },
    RolePlan {
        title: "Brand Designer",
        department: "Design",
        location: "Remote",
        country: "DE",
        remote_policy: RemotePolicy::Remote,
        employment_type: EmploymentType::Contract,
        salary: (55_000, 70_000),
        currency: "EUR",
        opened: 57,
        fate: Fate::Closed(12),
        closes_in: None,
        applicants: 13,
        hires: 1,
        about: "Our bikes carry our name through 40 cities. You will make them worth looking at.",
        tasks: [
            "Redesign the bikes, the jackets and the website",
            "Keep a small design system that everybody uses",
            "Brief illustrators and photographers",
        ],
        requirements: [
            "A portfolio with printed work",
            "Experience with Figma and with real paint",
            "You meet deadlines",
        ],
    },
    RolePlan {
        title: "Account Executive",
        department: "Sales",
        location: "New York",
        country: "US",
        remote_policy: RemotePolicy::Onsite,
        employment_type: EmploymentType::FullTime,
        salary: (90_000, 130_000),
        currency: "USD",
        opened: 32,
        fate: Fate::Open,
        closes_in: None,
        applicants: 15,
        hires: 2,
        about: "You will show retailers on the East Coast that a cargo bike beats a truck.",
        tasks: [
            "Find and win 20 customers a year",
            "Run pilots together with Operations",
            "Keep Salesforce honest",
        ],
        requirements: [
            "Four years in B2B sales, best in logistics",
            "You listen more than you talk",
            "Readiness to travel two days a week",
        ],
    },
    RolePlan {
        title: "Customer Success Manager",
        department: "Sales",
        location: "Austin, TX",
        country: "US",
        remote_policy: RemotePolicy::Onsite,
        employment_type: EmploymentType::FullTime,
        salary: (70_000, 90_000),
        currency: "USD",
        opened: 20,
        fate: Fate::Open,
        closes_in: None,
        applicants: 12,
        hires: 0,
        about: "You will help 40 retailers to get the best out of Acme, and tell us what stops them.",
        tasks: [
            "Onboard new customers within two weeks",
            "Hold quarterly reviews with numbers that matter to the customer",
            "Bring problems to Product with evidence",
        ],
        requirements: [
            "Three years with business customers",
            "You can build a spreadsheet and present it",
            "Spanish is a plus",
        ],
    },
    RolePlan {
        title: "Office Manager",
        department: "Operations",
        location: "Berlin",
        country: "DE",
        remote_policy: RemotePolicy::Onsite,
        employment_type: EmploymentType::PartTime,
        salary: (24_000, 28_000),
        currency: "EUR",
        opened: 53,
        fate: Fate::Closed(20),
        closes_in: None,
        applicants: 6,
        hires: 0,
        about: "You will run the house in which 70 of us work.",
        tasks: [
            "Look after rooms, suppliers and guests",
            "Prepare the first day of new colleagues",
            "Keep the budget",
        ],
        requirements: [
            "Two years in a similar job",
            "German and English",
            "You stay calm when the lift is stuck",
        ],
    },
    RolePlan {
        title: "Working Student Marketing",
        department: "Marketing",
        location: "Berlin",
        country: "DE",
        remote_policy: RemotePolicy::Hybrid,
        employment_type: EmploymentType::Internship,
        salary: (15_000, 18_000),
        currency: "EUR",
        opened: 3,
        fate: Fate::Draft,
        closes_in: None,
        applicants: 0,
        hires: 0,
        about: "You will tell the stories of our riders.",
        tasks: ["Interview riders and customers", "Write for our blog and newsletter", "Count what works"],
        requirements: ["Enrolled at a university", "You like to write", "15 to 20 hours a week"],
    },
];
