import { Alert, Button, Group, Loader, Stack, Text } from '@mantine/core';
import { IconAlertTriangle, IconBraces, IconListDetails, IconPlayerStop } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect, useState } from 'react';
import { sessionQuery } from '../../../api/queries.ts';
import type { Exchange, RunningExchange } from './exchange.ts';
import { type DetailsView, ExchangeDetails } from './exchange-details.tsx';
import { useLive } from './live.ts';
import { RequestFigures } from './request-figures.tsx';

interface ExchangeViewProps<Answer> {
  readonly of: RunningExchange<Answer>;
  /** What is said while nothing has come. */
  readonly waiting: string;
  /** What is said beside `Stopped.`. */
  readonly whenStopped?: string;
  readonly children: (answer: Answer, isRunning: boolean) => ReactNode;
}

/** An answer as it comes, its figures, and the way to its code and its raw events. */
export function ExchangeView<Answer>(props: ExchangeViewProps<Answer>) {
  const { of: exchange, waiting, whenStopped, children } = props;
  const shown = useLive(exchange.live);
  const [details, setDetails] = useState<DetailsView>();
  const isRunning = shown.state === 'running';
  return (
    <Stack gap="xs" aria-busy={isRunning}>
      {children(shown.answer, isRunning)}
      {isRunning && shown.firstOutputMs === null && (
        <Group gap="xs" role="status">
          <Loader size="xs" aria-hidden />
          <Text size="sm" c="dimmed">
            {waiting}
          </Text>
        </Group>
      )}
      {shown.state === 'stopped' && (
        <Text size="sm" c="dimmed" role="status">
          Stopped. {whenStopped}
        </Text>
      )}
      {shown.error && <Failure of={shown.error} />}
      <RequestFigures of={shown} />
      <Group gap="xs">
        {isRunning && (
          <Button
            size="compact-xs"
            variant="light"
            color="red"
            leftSection={<IconPlayerStop size={14} aria-hidden />}
            onClick={exchange.stop}
          >
            Stop
          </Button>
        )}
        <Button
          size="compact-xs"
          variant="default"
          leftSection={<IconBraces size={14} aria-hidden />}
          onClick={() => setDetails('code')}
        >
          Code
        </Button>
        <Button
          size="compact-xs"
          variant="default"
          leftSection={<IconListDetails size={14} aria-hidden />}
          onClick={() => setDetails('events')}
        >
          Raw events
        </Button>
      </Group>
      {details && <ExchangeDetails of={exchange} view={details} onClose={() => setDetails(undefined)} />}
    </Stack>
  );
}

const UNAUTHENTICATED = 401;

function Failure({ of: { message, status, code } }: { of: NonNullable<Exchange<unknown>['error']> }) {
  const queries = useQueryClient();
  useEffect(() => {
    // It may be the session that has ended: then this leads to the sign-in.
    if (status === UNAUTHENTICATED) void queries.invalidateQueries(sessionQuery);
  }, [queries, status]);
  const facts = [status > 0 ? String(status) : null, code].filter((fact) => fact !== null);
  return (
    <Alert color="red" variant="light" icon={<IconAlertTriangle aria-hidden />} role="alert" p="xs">
      <Text size="sm" c="var(--mantine-color-text)" style={{ overflowWrap: 'anywhere' }}>
        {message}
        {facts.length > 0 && (
          <>
            {' '}
            <code>{facts.join(' ')}</code>
          </>
        )}
      </Text>
    </Alert>
  );
}
