use dialoguer::{theme::ColorfulTheme, Input, Password};

fn main() {
    let theme = ColorfulTheme::default();

    let name: String = Input::with_theme(&theme)
        .with_prompt("Your name")
        .max_length(40)
        .interact_text()
        .unwrap();

    let password = Password::with_theme(&theme)
        .with_prompt("New password")
        .max_length(72)
        .interact()
        .unwrap();

    println!("{}: {} characters", name, password.chars().count());
}
