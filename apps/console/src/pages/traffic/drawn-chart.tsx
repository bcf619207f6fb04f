import '@mantine/charts/styles.css';
import { BarChart, LineChart } from '@mantine/charts';
import { ticksUpTo } from './axis.ts';
import { AXIS_TEXT } from './measures.ts';
import { type Drawn, summaryOf, timeLabel } from './series.ts';

interface DrawnChartProps {
  readonly of: Drawn;
  readonly title: string;
  readonly height: number;
  /** Charts with the same one show the same moment. */
  readonly group: string;
}

const MAX_HOURS_WITH_CLOCK = 24;
const FIRST_HOUR = / 00:\d\d$/;

const sumOf = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);

/** Bars of what can be added up, lines of what cannot. Loaded by itself: its library is larger than the rest of a page. */
export default function DrawnChart({ of: drawn, title, height, group }: DrawnChartProps) {
  const { span, measure, series, points } = drawn;
  const data = points.map(({ at, values }) => ({ at: timeLabel(at), ...values }));
  const isClock = span.bucket === 'hour' && points.length <= MAX_HOURS_WITH_CLOCK;
  // In zones of half hours the first hour of a day begins after midnight.
  const midnights = points.map(({ at }) => timeLabel(at)).filter((label) => FIRST_HOUR.test(label));
  const heights = points.map(({ values }) => Object.values(values).map((value) => value ?? 0));
  const highest = Math.max(
    0,
    ...heights.map((values) => (measure.isSum ? sumOf(values) : Math.max(0, ...values))),
  );
  const ticks = ticksUpTo(highest, measure.unit);
  const common = {
    h: height,
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
  const described = { syncId: group, title, desc: summaryOf(drawn) };
  const label = `${title}. ${described.desc}`;
  return measure.isSum ? (
    <BarChart
      {...common}
      role="figure"
      aria-label={label}
      type="stacked"
      maxBarWidth={28}
      barChartProps={described}
    />
  ) : (
    <LineChart
      {...common}
      role="figure"
      aria-label={label}
      curveType="linear"
      connectNulls={false}
      withDots={points.length <= MAX_HOURS_WITH_CLOCK * 2}
      dotProps={{ r: 2 }}
      lineChartProps={described}
    />
  );
}
