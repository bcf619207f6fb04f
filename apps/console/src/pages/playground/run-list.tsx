import { Paper, Stack } from '@mantine/core';
import type { ReactNode } from 'react';
import { ExchangeView } from './exchange/exchange-view.tsx';
import type { Run } from './exchange/runs.ts';

interface RunListProps<Answer> {
  readonly runs: readonly Run<Answer>[];
  readonly waiting: string;
  readonly whenEmpty: ReactNode;
  readonly children: (answer: Answer) => ReactNode;
}

/** The latest requests of a family with their answers, the newest first. */
export const RunList = <Answer,>({ runs, waiting, whenEmpty, children }: RunListProps<Answer>) =>
  runs.length === 0 ? (
    whenEmpty
  ) : (
    <Stack gap="sm">
      {runs.map(({ id, exchange }) => (
        <Paper key={id} withBorder p="sm" component="section" aria-label={`Request ${id}`}>
          <ExchangeView of={exchange} waiting={waiting}>
            {(answer) => children(answer)}
          </ExchangeView>
        </Paper>
      ))}
    </Stack>
  );
