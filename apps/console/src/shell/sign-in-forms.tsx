import { Button, Code, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';

/** What the API is sent. */
export interface SignInBody {
  readonly token?: string;
  readonly key?: string;
  readonly email?: string;
  readonly password?: string;
  readonly name?: string;
}

interface SignInFormProps {
  readonly isPending: boolean;
  readonly onSubmit: (body: SignInBody) => void;
}

export function TokenForm({ isPending, onSubmit }: SignInFormProps) {
  const form = useForm({
    mode: 'uncontrolled',
    initialValues: { token: '', name: '' },
    validate: { token: (value) => (value.trim() === '' ? 'Paste the admin token.' : null) },
  });
  const submit = form.onSubmit(({ token, name }) =>
    onSubmit({ token: token.trim(), ...(name.trim() !== '' && { name: name.trim() }) }),
  );
  return (
    <form onSubmit={submit}>
      <Stack>
        <Text size="sm" c="dimmed">
          For admins: the value of <Code>GATEWAY_ADMIN_TOKEN</Code>. Where that is not set,{' '}
          <Code>npm start</Code> creates one and says in which file it is.
        </Text>
        <PasswordInput
          label="Admin token"
          autoComplete="current-password"
          data-autofocus
          autoFocus
          key={form.key('token')}
          {...form.getInputProps('token')}
        />
        <TextInput
          label="Your name"
          description="Shown next to your changes in the audit log."
          placeholder="admin"
          autoComplete="username"
          maxLength={100}
          key={form.key('name')}
          {...form.getInputProps('name')}
        />
        <Button type="submit" loading={isPending} fullWidth>
          Sign in
        </Button>
      </Stack>
    </form>
  );
}

export function KeyForm({ isPending, onSubmit }: SignInFormProps) {
  const form = useForm({
    mode: 'uncontrolled',
    initialValues: { key: '' },
    validate: { key: (value) => (value.trim() === '' ? 'Paste your key.' : null) },
  });
  return (
    <form onSubmit={form.onSubmit(({ key }) => onSubmit({ key: key.trim() }))}>
      <Stack>
        <Text size="sm" c="dimmed">
          Sign in with your own key to see what remains of it and what it was used for. The key is not stored.
        </Text>
        <PasswordInput
          label="Your key"
          placeholder="gwk_…"
          autoComplete="current-password"
          autoFocus
          key={form.key('key')}
          {...form.getInputProps('key')}
        />
        <Button type="submit" loading={isPending} fullWidth>
          Sign in
        </Button>
      </Stack>
    </form>
  );
}

export function PasswordForm({ isPending, onSubmit }: SignInFormProps) {
  const form = useForm({
    mode: 'uncontrolled',
    initialValues: { email: '', password: '' },
    validate: {
      email: (value) => (value.trim() === '' ? 'Enter your e-mail address.' : null),
      password: (value) => (value === '' ? 'Enter your password.' : null),
    },
  });
  return (
    <form onSubmit={form.onSubmit(({ email, password }) => onSubmit({ email: email.trim(), password }))}>
      <Stack>
        <TextInput
          label="E-mail address"
          type="email"
          autoComplete="username"
          autoFocus
          maxLength={254}
          key={form.key('email')}
          {...form.getInputProps('email')}
        />
        <PasswordInput
          label="Password"
          description="Forgotten? Ask who invited you for a new link."
          autoComplete="current-password"
          maxLength={200}
          key={form.key('password')}
          {...form.getInputProps('password')}
        />
        <Button type="submit" loading={isPending} fullWidth>
          Sign in
        </Button>
      </Stack>
    </form>
  );
}
