import { Alert, Button, Group, PasswordInput, SegmentedControl, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { api, bodyOf } from '../../../api/client.ts';
import type { TriedProvider } from '../../../api/types.ts';
import { type Connection, settingsOf, trialOf } from './connection.ts';

interface ConnectProviderProps {
  readonly connection: Connection;
  readonly onChange: (connection: Connection) => void;
  /** The names of channels that there are. */
  readonly taken: readonly string[];
  /** Whether the configuration can hold a key: it is sealed. */
  readonly isStored: boolean;
  /** Its models are known, or the person goes on without. */
  readonly onConnected: (tried: TriedProvider) => void;
}

/** Where the provider is and what opens it, tried by one cheap request. */
export function ConnectProvider({
  connection,
  onChange,
  taken,
  isStored,
  onConnected,
}: ConnectProviderProps) {
  const { provider, name, baseUrl, settings } = connection;
  const isTaken = taken.includes(name.trim());
  const trial = useMutation({
    mutationFn: () =>
      bodyOf(api.POST('/admin/v1/configuration/providers/try', { body: trialOf(connection) })),
    onSuccess: (tried) => {
      if (isConnected(tried)) onConnected(tried);
    },
  });
  const change = (changed: Partial<Connection>) => {
    trial.reset();
    onChange({ ...connection, ...changed });
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (!isTaken) trial.mutate();
      }}
    >
      <Stack gap="sm" maw={560}>
        <TextInput
          label="Name of the channel"
          description="Shown in lists and in the log of requests."
          value={name}
          onChange={(event) => change({ name: event.currentTarget.value })}
          error={isTaken && 'There is a channel of this name.'}
          required
          maxLength={64}
          autoComplete="off"
        />
        {settingsOf(provider).map((setting) => (
          <TextInput
            key={setting}
            label={setting}
            description={setting === 'resource' ? 'Or a base URL' : undefined}
            value={settings[setting] ?? ''}
            onChange={(event) => change({ settings: { ...settings, [setting]: event.currentTarget.value } })}
            required={setting !== 'resource'}
            autoComplete="off"
          />
        ))}
        <TextInput
          label="Base URL"
          description={
            provider.needsBaseUrl
              ? 'As the gateway reaches it'
              : `Only if it is not ${provider.address ?? "the provider's own"}`
          }
          placeholder={provider.address ?? 'https://'}
          value={baseUrl}
          onChange={(event) => change({ baseUrl: event.currentTarget.value })}
          required={provider.needsBaseUrl}
          autoComplete="off"
        />
        <KeyInputs connection={connection} isStored={isStored} onChange={change} />
        {!provider.listsModels && (
          <TextInput
            label="Model to try"
            description="By its id there. The provider lists none, so this one is asked for a few tokens. Leave it empty to go on untried."
            value={connection.model}
            onChange={(event) => change({ model: event.currentTarget.value })}
            maxLength={256}
            autoComplete="off"
          />
        )}
        <div aria-live="polite">{trial.data && <Trial of={trial.data} onContinue={onConnected} />}</div>
        {trial.error && (
          <Alert color="red" variant="light" role="alert" title="It was not tried">
            <Text size="sm" c="var(--mantine-color-text)" style={{ overflowWrap: 'anywhere' }}>
              {trial.error.message}
            </Text>
          </Alert>
        )}
        <Group>
          <Button type="submit" loading={trial.isPending} disabled={isTaken}>
            {trial.data === undefined ? 'Connect' : 'Try again'}
          </Button>
          {trial.isPending && (
            <Text size="sm" c="dimmed">
              Asking for its models, for 10 seconds at most …
            </Text>
          )}
        </Group>
      </Stack>
    </form>
  );
}

interface KeyInputsProps {
  readonly connection: Connection;
  readonly isStored: boolean;
  readonly onChange: (changed: Partial<Connection>) => void;
}

const CHOICES: readonly { readonly value: Connection['holds']; readonly label: string }[] = [
  { value: 'key', label: 'API key' },
  { value: 'variable', label: 'Environment variable' },
  { value: 'identity', label: 'Credential source' },
];

const IDENTITIES: Readonly<Record<NonNullable<Connection['provider']['identity']>, string>> = {
  aws: "AWS' default chain: environment, profile, SSO, web identity, container or instance of each service.",
  google: "Google's application default credentials of each service.",
  entra: 'The managed identity of the machine, by Microsoft Entra ID.',
};

/** A file has no place for a key: there it is the name of a variable, and the key is typed for the trial alone. */
function KeyInputs({ connection, isStored, onChange }: KeyInputsProps) {
  const { provider, holds, key, variable } = connection;
  const isRequired = provider.apiKey === 'required';
  const choices = CHOICES.filter(
    ({ value }) => (value !== 'key' || isStored) && (value !== 'identity' || provider.identity !== null),
  );
  const about = isRequired ? '' : ' Leave it empty if the server takes none.';
  return (
    <>
      {choices.length > 1 && (
        <SegmentedControl
          aria-label="Where the key is"
          data={choices}
          value={holds}
          onChange={(chosen) =>
            onChange({ holds: choices.find(({ value }) => value === chosen)?.value ?? holds })
          }
        />
      )}
      {holds === 'identity' && (
        <Text size="sm">{provider.identity !== null && IDENTITIES[provider.identity]}</Text>
      )}
      {holds === 'variable' && (
        <TextInput
          label="Environment variable of the key"
          description={`Its name, as the services have it.${about}`}
          placeholder={provider.variable}
          value={variable}
          onChange={(event) => onChange({ variable: event.currentTarget.value })}
          pattern="\s*[A-Za-z_][A-Za-z0-9_]*\s*"
          title={`A name such as ${provider.variable}, not the key itself`}
          required={isRequired}
          autoComplete="off"
        />
      )}
      {holds !== 'identity' && (
        <PasswordInput
          label={holds === 'key' ? 'API key' : 'API key, for a trial'}
          description={
            holds === 'key'
              ? `Sealed when the change is applied, and never shown again.${about}`
              : 'Sent to the provider now, and not stored. Leave it empty if the gateway has the variable already.'
          }
          value={key}
          onChange={(event) => onChange({ key: event.currentTarget.value })}
          required={isRequired && holds === 'key'}
          maxLength={4096}
          autoComplete="new-password"
        />
      )}
    </>
  );
}

/** Whether nothing is left to do or to know. */
const isConnected = ({ outcome, models }: TriedProvider): boolean =>
  outcome === 'accepted' || (outcome === 'listed' && models.length > 0);

const TITLES: Readonly<Record<TriedProvider['outcome'], string>> = {
  listed: 'Connected, and there is no model to use',
  accepted: 'Connected',
  unlisted: 'The key was not tried',
  untried: 'The key was not tried',
  refused: 'The key was refused',
  failed: 'Not the answer that was expected',
  unreachable: 'Not reachable',
};

interface TrialProps {
  readonly of: TriedProvider;
  readonly onContinue: (tried: TriedProvider) => void;
}

/** What came of a trial that gave no models: why, and what to do. */
function Trial({ of: tried, onContinue }: TrialProps) {
  const { outcome, reason, advice } = tried;
  if (isConnected(tried)) return null;
  const isWrong = outcome === 'refused' || outcome === 'failed' || outcome === 'unreachable';
  return (
    <Alert
      color={isWrong ? 'red' : 'orange'}
      variant="light"
      title={TITLES[outcome]}
      styles={{ title: { color: 'var(--mantine-color-text)' } }}
    >
      <Stack gap="xs" align="flex-start">
        {[reason, advice].map(
          (text) =>
            text !== null && (
              <Text key={text} size="sm" c="var(--mantine-color-text)" style={{ overflowWrap: 'anywhere' }}>
                {text}
              </Text>
            ),
        )}
        <Button size="compact-sm" variant="default" onClick={() => onContinue(tried)}>
          {isWrong ? 'Continue all the same' : 'Continue'}
        </Button>
      </Stack>
    </Alert>
  );
}
