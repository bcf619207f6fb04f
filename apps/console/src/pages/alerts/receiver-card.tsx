import { Alert, Badge, Button, Group, Paper, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { api, bodyOf } from '../../api/client.ts';
import { useMay } from '../../api/permissions.ts';
import type { Alerts } from '../../api/types.ts';

type Receiver = Alerts['receivers'][number];

const TYPES: Readonly<Record<Receiver['type'], string>> = {
  slack: 'Slack',
  teams: 'Microsoft Teams',
  webhook: 'Webhook',
  email: 'E-mail',
};

/** Where alerts are sent, and a button that sends a test there. */
export function ReceiverCard({ of: { name, type, target, missing } }: { of: Receiver }) {
  const mayTest = useMay()('POST /admin/v1/alerts/receivers/{name}/test');
  const test = useMutation({
    mutationFn: () =>
      bodyOf(api.POST('/admin/v1/alerts/receivers/{name}/test', { params: { path: { name } } })),
  });
  return (
    <Paper withBorder p="sm" component="article" aria-label={name}>
      <Stack gap="xs">
        <Group justify="space-between" wrap="nowrap" align="flex-start">
          <div style={{ minWidth: 0, overflowWrap: 'anywhere' }}>
            <Group gap="xs">
              <Text size="sm" fw={600}>
                {name}
              </Text>
              <Badge variant="default" size="sm">
                {TYPES[type]}
              </Badge>
            </Group>
            <Text size="sm" c="dimmed">
              {target}
            </Text>
          </div>
          {mayTest && (
            <Button
              size="compact-sm"
              variant="default"
              aria-label={`Send a test to ${name}`}
              style={{ flexShrink: 0 }}
              loading={test.isPending}
              onClick={() => test.mutate()}
            >
              Send a test
            </Button>
          )}
        </Group>
        {missing.length > 0 && (
          <Text size="sm" c="var(--console-worse)">
            Not set in the admin service: {missing.join(', ')}
          </Text>
        )}
        <div role="status">
          {test.data && (
            <Alert color={test.data.isOk ? 'teal' : 'red'} variant="light" p="xs">
              <Text size="sm" c="var(--mantine-color-text)">
                {test.data.isOk ? 'Sent. The receiver accepted it.' : `Not sent: ${test.data.error}`}
              </Text>
            </Alert>
          )}
          {test.error && (
            <Text size="sm" c="var(--console-worse)">
              {test.error.message}
            </Text>
          )}
        </div>
      </Stack>
    </Paper>
  );
}
