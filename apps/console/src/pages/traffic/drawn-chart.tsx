import '@mantine/charts/styles.css';
import { BarChart, LineChart } from '@mantine/charts';
import { type KeyboardEvent, type RefObject, type SyntheticEvent, useEffect, useRef, useState } from 'react';
import { ReferenceArea, useActiveTooltipLabel } from 'recharts';
import { ticksUpTo } from './axis.ts';
import { AXIS_TEXT } from './measures.ts';
import { type Drawn, type Series, summaryOf, timeLabel } from './series.ts';
import { isFine } from './time-range.ts';

interface DrawnChartProps {
  readonly of: Drawn;
  readonly title: string;
  readonly height: number;
  /** Charts with the same one show the same moment. */
  readonly group: string;
  /** Opens what is behind the point at an index. */
  readonly onOpen: (at: number, series: Series | undefined) => void;
  /** Shows the time from one index to another. */
  readonly onZoom: (first: number, last: number) => void;
}

/** What recharts says of the pointer. */
interface Pointed {
  readonly activeTooltipIndex?: number | string | null | undefined;
}

/** Notes which point the pointer or the arrow keys are at. */
function ActiveLabel({ of: active }: { of: RefObject<string | undefined> }) {
  const label = useActiveTooltipLabel();
  useEffect(() => {
    active.current = label === undefined ? undefined : String(label);
  }, [label, active]);
  return null;
}

const MAX_HOURS_WITH_CLOCK = 24;
/** Each point of a line of so few is drawn. */
const MAX_DOTS = 48;
const FIRST_HOUR = / 00:\d\d$/;

/** A point without neighbours belongs to no line: it would not be seen. */
const isLone = (points: Drawn['points'], at: number, series: string): boolean =>
  [at - 1, at + 1].every((beside) => (points[beside]?.values[series] ?? null) === null);

const sumOf = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);

/** Bars of what can be added up, lines of what cannot. Loaded by itself: its library is larger than the rest of a page. */
export default function DrawnChart({ of: drawn, title, height, group, onOpen, onZoom }: DrawnChartProps) {
  const { span, measure, series, points } = drawn;
  const data = points.map(({ at, values }) => ({ at: timeLabel(at), ...values }));
  const isClock = isFine(span) || (span.bucket === 'hour' && points.length <= MAX_HOURS_WITH_CLOCK);
  // In zones of half hours the first hour of a day begins after midnight.
  const midnights = points.map(({ at }) => timeLabel(at)).filter((label) => FIRST_HOUR.test(label));
  const heights = points.map(({ values }) => Object.values(values).map((value) => value ?? 0));
  const highest = Math.max(
    0,
    ...heights.map((values) => (measure.isSum ? sumOf(values) : Math.max(0, ...values))),
  );
  const hasFew = heights.filter((values) => values.some((value) => value > 0)).length <= MAX_DOTS;
  const ticks = ticksUpTo(highest, measure.unit);
  const labels = data.map(({ at }) => at);
  const isPicked = measure.behind !== null;
  const active = useRef<string>(undefined);
  const pressed = useRef<Series>(undefined);
  const [brush, setBrush] = useState<readonly [number, number]>();
  const indexOf = ({ activeTooltipIndex: at }: Pointed): number | undefined =>
    at === undefined || at === null ? undefined : Number(at);
  const pointer = {
    onMouseDown: (pointed: Pointed, { nativeEvent }: SyntheticEvent) => {
      const at = indexOf(pointed);
      const isMain = nativeEvent instanceof MouseEvent && nativeEvent.button === 0;
      if (at !== undefined && isMain) setBrush([at, at]);
    },
    onMouseMove: (pointed: Pointed) => {
      const at = indexOf(pointed);
      if (brush !== undefined && at !== undefined && at !== brush[1]) setBrush([brush[0], at]);
    },
    onMouseLeave: () => {
      pressed.current = undefined;
      setBrush(undefined);
    },
    onMouseUp: () => {
      const series = pressed.current;
      pressed.current = undefined;
      setBrush(undefined);
      if (brush === undefined) return;
      const [first, last] = [Math.min(...brush), Math.max(...brush)];
      if (first === last) onOpen(first, series);
      else onZoom(first, last);
    },
  };
  const press = (event: KeyboardEvent): void => {
    const at = labels.indexOf(active.current ?? '');
    if (event.key === 'Enter' && at >= 0) onOpen(at, undefined);
  };
  const inside = (
    <>
      <ActiveLabel of={active} />
      {brush !== undefined && brush[0] !== brush[1] && (
        <ReferenceArea
          x1={labels[Math.min(...brush)] ?? ''}
          x2={labels[Math.max(...brush)] ?? ''}
          fill="var(--mantine-primary-color-filled)"
          fillOpacity={0.15}
        />
      )}
    </>
  );
  const common = {
    h: height,
    style: { cursor: isPicked ? 'pointer' : 'crosshair', userSelect: 'none' as const },
    onKeyDown: press,
    data,
    dataKey: 'at',
    series: series.map(({ id, label, color }) => ({ name: id, label, color })),
    valueFormatter: measure.format,
    withLegend: series.length > 1,
    // In the order of the series: the library's own is that of their ids.
    legendProps: { verticalAlign: 'bottom' as const, itemSorter: null },
    tickLine: 'none' as const,
    gridAxis: 'x' as const,
    textColor: 'var(--console-quiet)',
    xAxisProps: {
      minTickGap: 24,
      ...(span.bucket === 'hour' && !isClock && { ticks: midnights }),
      tickFormatter: (label: string) => (isClock ? label.slice(-5) : label.replace(FIRST_HOUR, '')),
    },
    yAxisProps: {
      width: 66,
      ticks,
      domain: [0, ticks.at(-1) ?? 1],
      interval: 0,
      tickFormatter: AXIS_TEXT[measure.unit],
    },
  };
  const described = { syncId: group, title, desc: summaryOf(drawn), ...pointer };
  const label = `${title}. ${described.desc}${isPicked ? ' Enter opens the requests of the selected point.' : ''}`;
  return measure.isSum ? (
    <BarChart
      {...common}
      role="figure"
      aria-label={label}
      type="stacked"
      maxBarWidth={28}
      barChartProps={described}
      barProps={({ name }) => ({
        onMouseDown: () => {
          pressed.current = series.find(({ id }) => id === name);
        },
      })}
    >
      {inside}
    </BarChart>
  ) : (
    <LineChart
      {...common}
      role="figure"
      aria-label={label}
      curveType="linear"
      connectNulls={false}
      lineProps={({ name }) => ({
        dot: ({ key, cx, cy, index, stroke }) =>
          typeof cy === 'number' && (hasFew || isLone(points, index, name)) ? (
            <circle key={key} cx={cx} cy={cy} r={2} fill={stroke} />
          ) : (
            <g key={key} />
          ),
      })}
      lineChartProps={described}
    >
      {inside}
    </LineChart>
  );
}
