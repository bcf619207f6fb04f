import { Alert, PasswordInput, Select, Stack, TagsInput, Text, TextInput } from '@mantine/core';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, bodyOf } from '../../../api/client.ts';
import type { ConfigurationEdit, Provider } from '../../../api/types.ts';
import { FormEnd } from '../../../parts/form-end.tsx';
import { PageFailed } from '../../../parts/page/page-failed.tsx';
import { SideDrawer } from '../../../parts/side-drawer.tsx';
import type { OpenDraft } from './use-draft.ts';

const providersQuery = queryOptions({
  queryKey: ['providers'],
  queryFn: () => bodyOf(api.GET('/admin/v1/configuration/providers')),
  staleTime: Number.POSITIVE_INFINITY,
});

interface NewChannelProps {
  readonly draft: OpenDraft;
  readonly onAdded: () => void;
  readonly onClose: () => void;
}

const KINDS = [
  { value: 'text', label: 'Text' },
  { value: 'image', label: 'Images' },
  { value: 'speech', label: 'Speech' },
  { value: 'transcription', label: 'Transcription' },
];

/** The form that puts a provider into the draft: its channel, and the models that it serves. */
export function NewChannel({ draft, onAdded, onClose }: NewChannelProps) {
  const providers = useQuery(providersQuery);
  const [provider, setProvider] = useState<string | null>(null);
  const [name, setName] = useState<string>();
  const [baseUrl, setBaseUrl] = useState('');
  const [apiKey, setApiKey] = useState('');
  const [settings, setSettings] = useState<Readonly<Record<string, string>>>({});
  const [models, setModels] = useState<string[]>([]);
  const [kind, setKind] = useState('text');
  const [error, setError] = useState<Error | null>(null);
  const entries = draft.result?.entries;
  const isStored = draft.result?.base !== null;
  const chosen = providers.data?.data.find((one) => one.name === provider);
  const channel = (name ?? provider ?? '').trim();
  const isTaken = channel in (entries?.channels ?? {});
  const add = async () => {
    const value = {
      provider,
      ...Object.fromEntries(Object.entries(settings).filter(([, text]) => text !== '')),
      ...(baseUrl.trim() !== '' && { baseUrl: baseUrl.trim() }),
      ...(apiKey.trim() !== '' && { apiKey: apiKey.trim() }),
    };
    try {
      await draft.edit([
        { op: 'set', path: ['channels', channel], value },
        ...models.map((model) => routeOf(model, channel, kind, model in (entries?.models ?? {}))),
      ]);
      onAdded();
    } catch (reason) {
      setError(reason instanceof Error ? reason : new Error(String(reason)));
    }
  };
  return (
    <SideDrawer onClose={onClose} title={<Text fw={600}>Add a provider</Text>}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (chosen !== undefined && !isTaken) void add();
        }}
      >
        <Stack>
          {providers.error && <PageFailed error={providers.error} reset={() => void providers.refetch()} />}
          <Select
            label="Provider"
            placeholder="Choose"
            data={providers.data?.data.map((one) => one.name) ?? []}
            value={provider}
            onChange={(one) => {
              setProvider(one);
              setSettings({});
            }}
            searchable
            required
            data-autofocus
          />
          {chosen !== undefined && (
            <>
              <Text size="sm" c="dimmed">
                {aboutProvider(chosen)}
              </Text>
              <TextInput
                label="Name of the channel"
                value={name ?? chosen.name}
                onChange={(event) => setName(event.currentTarget.value)}
                error={isTaken && 'There is a channel of this name.'}
                required
                autoComplete="off"
              />
              {chosen.settings.map((setting) => (
                <TextInput
                  key={setting}
                  label={setting}
                  value={settings[setting] ?? ''}
                  onChange={(event) => setSettings({ ...settings, [setting]: event.currentTarget.value })}
                  autoComplete="off"
                />
              ))}
              <TextInput
                label="Base URL"
                description={chosen.needsBaseUrl ? undefined : "If it is not the provider's own"}
                placeholder="https://"
                value={baseUrl}
                onChange={(event) => setBaseUrl(event.currentTarget.value)}
                required={chosen.needsBaseUrl}
                autoComplete="off"
              />
              <KeyInput isStored={isStored} provider={chosen} value={apiKey} onChange={setApiKey} />
              <TagsInput
                label="Models"
                description="As the provider calls them, and callers too. Press Enter after each."
                value={models}
                onChange={setModels}
                acceptValueOnBlur
              />
              <Select
                label="Kind of these models"
                data={KINDS}
                value={kind}
                onChange={(one) => setKind(one ?? 'text')}
                allowDeselect={false}
              />
              <Alert variant="light" color="gray">
                <Text size="sm" c="var(--mantine-color-text)">
                  {isStored
                    ? 'Next: look at the changes and apply them. Then test the channel on its page.'
                    : 'Next: look at the changes and apply the diff to the file. Then test the channel on its page.'}
                </Text>
              </Alert>
              <FormEnd
                action="Add to the draft"
                isPending={draft.isEditing}
                error={error}
                onCancel={onClose}
              />
            </>
          )}
        </Stack>
      </form>
    </SideDrawer>
  );
}

interface KeyInputProps {
  /** Whether a key that is typed can be sealed. */
  readonly isStored: boolean;
  readonly provider: Provider;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** A file has no place for a key: there it is the name of a variable. */
function KeyInput({ isStored, provider, value, onChange }: KeyInputProps) {
  const shared = {
    label: 'API key',
    placeholder: variableOf(provider.name),
    value,
    autoComplete: 'off',
    onChange: (event: { currentTarget: { value: string } }) => onChange(event.currentTarget.value),
  };
  if (isStored)
    return (
      <PasswordInput
        {...shared}
        autoComplete="new-password"
        description="Sealed when the draft is applied, and never shown again. Or an environment variable of the services."
      />
    );
  return (
    <TextInput
      {...shared}
      description="The name of an environment variable of the services, not the key itself"
      pattern="\$\{[A-Za-z_][A-Za-z0-9_]*\}"
      title={`Such as ${variableOf(provider.name)}`}
    />
  );
}

const variableOf = (provider: string): string =>
  `\${${provider.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_')}_API_KEY}`;

const aboutProvider = ({ speaks, apiKey }: Provider): string =>
  `Speaks ${speaks.join(', ')}. ${apiKey === 'required' ? 'Needs a key, or credentials that are set under "Text".' : 'Works without a key.'}`;

/** A model that callers know already gets another route. */
const routeOf = (model: string, channel: string, kind: string, isThere: boolean): ConfigurationEdit =>
  isThere
    ? { op: 'add', path: ['models', model, 'routes'], value: { channel } }
    : { op: 'set', path: ['models', model], value: { kind, routes: [{ channel }] } };
