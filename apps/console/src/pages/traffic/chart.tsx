import { Center, Skeleton, Text } from '@mantine/core';
import { lazy, Suspense } from 'react';
import type { Drawn } from './series.ts';

interface ChartProps {
  /** Undefined while it is loaded. */
  readonly of: Drawn | undefined;
  readonly title: string;
  readonly height?: number;
  /** Charts of the same group show the same moment. */
  readonly group: string;
}

const DrawnChart = lazy(() => import('./drawn-chart.tsx'));

/** A measure over time. Its room is kept while it is loaded, and where there is nothing to draw. */
export function Chart({ of: drawn, title, height = 200, group }: ChartProps) {
  const waiting = <Skeleton h={height} animate={false} />;
  if (drawn === undefined) return waiting;
  return drawn.series.length === 0 ? (
    <Center h={height}>
      <Text size="sm" c="dimmed">
        No data in this period.
      </Text>
    </Center>
  ) : (
    <Suspense fallback={waiting}>
      <DrawnChart of={drawn} title={title} height={height} group={group} />
    </Suspense>
  );
}
