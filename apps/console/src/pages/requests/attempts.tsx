import { Badge, Group, Stack, Text } from '@mantine/core';
import type { ShownRequest } from '../../api/types.ts';
import { milliseconds } from '../../parts/numbers.ts';
import { ValueLink } from '../traffic/value-link.tsx';

/** What an attempt's outcome means. */
const REASONS: Readonly<Record<string, string>> = {
  ok: 'Answered.',
  busy: 'Not called, because no slot became free in time.',
  'rate-limited': "The provider's rate limit for this model was reached.",
  overloaded: 'The provider was overloaded.',
  timeout: 'The provider did not answer in time.',
  failed: 'The provider failed.',
  unreachable: 'The provider could not be reached.',
  'quota-exhausted': 'The account has no quota left.',
  'no-credentials': 'The gateway could not get credentials for this account.',
  misconfigured: 'The API key or the model is not set up correctly.',
  rejected: 'The provider refused the request itself, so no other channel was tried.',
  'not-found': 'The request names something that does not exist there.',
  'too-long': 'The input was longer than the context of the model.',
  'outcome-unknown': 'The connection broke after the request was sent, so it may have been processed.',
  overtaken: 'Another attempt answered first.',
  left: 'The caller closed the request.',
};

/** Every attempt with its reason, in the order in which they ended. */
export function Attempts({
  of: { attempts, attemptList },
}: {
  of: Pick<ShownRequest, 'attempts' | 'attemptList'>;
}) {
  if (attemptList.length === 0)
    return (
      <Text size="sm">
        {attempts === 0 ? 'No channel was called.' : `${attempts}, without recorded details.`}
      </Text>
    );
  const left = attempts - attemptList.length;
  return (
    <Stack gap="xs" component="ol" m={0} p={0} style={{ listStyle: 'none' }} aria-label="Attempts">
      {attemptList.map(({ channel, account, outcome, status, ms, isHedge }, at) => (
        <li key={at}>
          <Group justify="space-between" wrap="nowrap" gap="xs" align="flex-start">
            <div>
              <Text size="sm" fw={600}>
                <ValueLink group="channel" value={channel} look="plain" />
                {account !== 'default' && (
                  <Text span size="xs" c="dimmed" fw={400}>
                    {' '}
                    account {account}
                  </Text>
                )}
              </Text>
              <Text size="sm">
                {REASONS[outcome] ?? outcome}
                {isHedge && ' Called because an earlier attempt was slow.'}
              </Text>
            </div>
            <Stack gap={2} align="flex-end" flex="none">
              <Badge
                variant="dot"
                color={outcome === 'ok' ? 'teal' : outcome === 'overtaken' ? 'gray' : 'red'}
              >
                {outcome}
                {status === null ? '' : ` ${status}`}
              </Badge>
              {ms !== null && (
                <Text size="xs" c="dimmed">
                  {milliseconds(ms)}
                </Text>
              )}
            </Stack>
          </Group>
        </li>
      ))}
      {left > 0 && (
        <Text component="li" size="sm" c="dimmed">
          And {left} more between the first and the last.
        </Text>
      )}
    </Stack>
  );
}
