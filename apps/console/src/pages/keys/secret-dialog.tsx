import { Alert, Button, Group, Stack, Tabs, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { gatewayQuery } from '../../api/queries.ts';
import type { Key } from '../../api/types.ts';
import { CopyField } from '../../parts/copy-field.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { modelsQuery } from '../models/models-query.ts';
import { clientSettings } from './client-settings.ts';

export interface ShownSecret {
  readonly of: Key;
  readonly secret: string;
  readonly warnings: readonly string[];
}

/** Shows a secret, this once, with the settings of clients. */
export function SecretDialog({ shown, onClose }: { shown: ShownSecret; onClose: () => void }) {
  const { data: gateway } = useQuery(gatewayQuery);
  const { data: models = [] } = useQuery(modelsQuery);
  const { of: key, secret, warnings } = shown;
  const model = models.find(({ kind, name }) => kind === 'text' && !name.includes('*'))?.name ?? 'gpt-5.2';
  const publicUrl = (gateway?.publicUrl ?? '').replace(/\/$/, '');
  const settings = clientSettings({ publicUrl, key: secret, model });
  return (
    <Dialog
      onClose={onClose}
      title={`Secret of ${key.name}`}
      size="lg"
      closeOnClickOutside={false}
      closeOnEscape={false}
    >
      <Stack>
        <Alert color="orange" variant="light" icon={<IconAlertTriangle aria-hidden />}>
          <Text size="sm" c="var(--mantine-color-text)">
            Copy it now. Only its hash is stored, so it cannot be shown again.
          </Text>
        </Alert>
        <CopyField label="Secret" value={secret} />
        {warnings.map((warning) => (
          <Alert key={warning} color="orange" variant="light">
            <Text size="sm" c="var(--mantine-color-text)">
              {warning}
            </Text>
          </Alert>
        ))}
        <Text fw={600} size="sm">
          Client settings
        </Text>
        <Tabs defaultValue="curl" keepMounted={false}>
          <Tabs.List>
            {settings.map(({ client }) => (
              <Tabs.Tab key={client} value={client}>
                {client}
              </Tabs.Tab>
            ))}
          </Tabs.List>
          {settings.map(({ client, place, text }) => (
            <Tabs.Panel key={client} value={client} pt="sm">
              <Text size="xs" c="dimmed" mb={6}>
                {place}
              </Text>
              <CopyField label={`Settings for ${client}`} value={text} />
            </Tabs.Panel>
          ))}
        </Tabs>
        <Group justify="flex-end">
          <Button onClick={onClose}>I have copied it</Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
