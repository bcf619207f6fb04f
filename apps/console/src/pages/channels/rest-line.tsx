import { Button, Group, Stack, Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import { useMay } from '../../api/permissions.ts';
import type { Rest } from '../../api/types.ts';
import { Moment } from '../../parts/moment.tsx';
import { counted, duration } from '../../parts/numbers.ts';
import { channelsQuery } from './channels-query.ts';
import classes from './rest-line.module.css';

const targetOf = ({ account, model }: Rest): string =>
  [account === null ? '' : `account ${account}`, model === null ? '' : `model ${model}`]
    .filter(Boolean)
    .join(', ') || 'the whole channel';

function timeLeft({ state, secondsLeft, cause }: Rest): string {
  if (state === 'unproven') return 'Its rest is over; it is on trial with the next request.';
  if (secondsLeft !== null) return `${duration(secondsLeft)} left.`;
  return cause === 'credentials' ? 'Until it gets another API key or is woken.' : 'Until woken.';
}

/** Why something rests and for how long, and the way to end that. */
export function RestLine({ of: rest, channel }: { of: Rest; channel: string }) {
  const queries = useQueryClient();
  const mayWake = useMay()('POST /admin/v1/channels/{name}/wake');
  const wake = useMutation({
    mutationFn: () =>
      api.POST('/admin/v1/channels/{name}/wake', {
        params: { path: { name: channel } },
        body: { account: rest.account, model: rest.model },
      }),
    onSuccess: () => queries.invalidateQueries({ queryKey: channelsQuery.queryKey }),
  });
  const target = targetOf(rest);
  return (
    <div className={classes.rest}>
      <Group justify="space-between" wrap="nowrap" align="flex-start">
        <Stack gap={2}>
          <Text size="sm" fw={600}>
            {target}: {rest.cause ?? `rested by ${rest.by}`}
          </Text>
          <Text size="sm">{rest.reason}</Text>
          <Text size="xs" c="dimmed">
            Since <Moment at={rest.since} size="xs" />. {timeLeft(rest)}
            {rest.failures > 0 && ` After ${counted(rest.failures, 'failure')}.`}
            {rest.restsBefore > 0 && ` Rest ${rest.restsBefore + 1} in a row.`}
          </Text>
          {wake.error && (
            <Text size="sm" c="var(--console-worse)" role="alert">
              {wake.error.message}
            </Text>
          )}
        </Stack>
        {mayWake && (
          <Button
            size="compact-sm"
            flex="none"
            variant="default"
            loading={wake.isPending}
            onClick={() => wake.mutate()}
            aria-label={`Wake ${target}`}
          >
            Wake
          </Button>
        )}
      </Group>
    </div>
  );
}
