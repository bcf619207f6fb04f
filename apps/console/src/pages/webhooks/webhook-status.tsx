import { Badge } from '@mantine/core';
import type { Webhook } from '../../api/types.ts';

export const WEBHOOK_STATUSES = [
  'pending',
  'delivered',
  'failed',
] as const satisfies readonly Webhook['status'][];

const COLORS: Readonly<Record<Webhook['status'], string>> = {
  pending: 'gray',
  delivered: 'teal',
  failed: 'red',
};

export const WebhookStatusBadge = ({ of: { status } }: { of: Pick<Webhook, 'status'> }) => (
  <Badge variant="dot" color={COLORS[status]} size="sm">
    {status}
  </Badge>
);

/** What became of an attempt: the receiver's status, or why there is none. */
export const outcomeOf = ({ status, error }: Webhook['attempts'][number]): string =>
  error ?? (status === null ? 'No answer' : `Answered ${status}`);
