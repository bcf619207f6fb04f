import { Center, Skeleton, Text } from '@mantine/core';
import { useRouter } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import { hrefOf } from '../../parts/page/page-link.tsx';
import type { Drawn, Series } from './series.ts';
import { rangeFrom } from './time-range.ts';
import { type Filter, filterSearch, type Group } from './usage-query.ts';

/** What of a chart leads to. */
interface Behind {
  /** What the whole chart is filtered by. */
  readonly only?: Filter;
  /** What its series are. */
  readonly group?: Group | undefined;
  /** Shows a part of its time. */
  readonly zoom: (range: { from: string; to: string; range: undefined }) => void;
}

interface ChartProps {
  /** Undefined while it is loaded. */
  readonly of: Drawn | undefined;
  readonly title: string;
  readonly height?: number;
  /** Charts of the same group show the same moment. */
  readonly syncGroup: string;
  readonly behind: Behind;
}

const DrawnChart = lazy(() => import('./drawn-chart.tsx'));

/** A measure over time. Its room is kept while it is loaded, and where there is nothing to draw. */
export function Chart({ of: drawn, title, height = 200, syncGroup, behind }: ChartProps) {
  const router = useRouter();
  const waiting = <Skeleton h={height} animate={false} />;
  if (drawn === undefined) return waiting;
  const nameAt = (at: number): string => drawn.points[at]?.at ?? '';
  const open = (at: number, series: Series | undefined): void => {
    const { measure, span } = drawn;
    if (measure.behind === null) return;
    const values = Object.values(drawn.points[at]?.values ?? {}).filter((value) => value !== null);
    const value = (series && drawn.points[at]?.values[series.id]) ?? Math.max(0, ...values);
    const search = {
      ...filterSearch(behind.only ?? {}),
      ...measure.behind(value),
      ...(behind.group !== undefined && series?.value !== undefined && { [behind.group]: series.value }),
      ...rangeFrom(span, nameAt(at), nameAt(at)),
    };
    void router.navigate({ href: hrefOf('/requests', search) });
  };
  const zoom = (first: number, last: number): void =>
    behind.zoom({ ...rangeFrom(drawn.span, nameAt(first), nameAt(last)), range: undefined });
  return drawn.series.length === 0 ? (
    <Center h={height}>
      <Text size="sm" c="dimmed">
        No data in this period.
      </Text>
    </Center>
  ) : (
    <Suspense fallback={waiting}>
      <DrawnChart of={drawn} title={title} height={height} group={syncGroup} onOpen={open} onZoom={zoom} />
    </Suspense>
  );
}
