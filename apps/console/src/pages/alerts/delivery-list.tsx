import { Group, Stack, Text } from '@mantine/core';
import type { Alerts } from '../../api/types.ts';
import { Moment } from '../../parts/moment.tsx';
import { counted } from '../../parts/numbers.ts';
import { WebhookStatusBadge } from '../webhooks/webhook-status.tsx';

/** The messages that were sent last, and how that went. */
export const DeliveryList = ({ of }: { of: Alerts['deliveries'] }) => (
  <Stack gap="sm" component="ul" m={0} p={0} style={{ listStyle: 'none' }}>
    {of.map((delivery) => {
      const { id, title, receiver, createdAt, attempts } = delivery;
      const error = attempts.at(-1)?.error ?? null;
      return (
        <li key={id}>
          <Group gap="xs" wrap="nowrap" align="flex-start">
            <div style={{ flexShrink: 0 }}>
              <WebhookStatusBadge of={delivery} />
            </div>
            <div style={{ minWidth: 0, overflowWrap: 'anywhere' }}>
              <Text size="sm">{title}</Text>
              <Text size="xs" c="dimmed">
                To {receiver}, <Moment at={createdAt} size="xs" />
                {attempts.length > 1 && `, ${counted(attempts.length, 'attempt')}`}
                {error !== null && `, last attempt: ${error}`}
              </Text>
            </div>
          </Group>
        </li>
      );
    })}
  </Stack>
);
