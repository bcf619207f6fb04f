import '@mantine/charts/styles.css';
import { BarChart, LineChart } from '@mantine/charts';
import { type Drawn, summaryOf, timeLabel } from './series.ts';

interface DrawnChartProps {
  readonly of: Drawn;
  readonly title: string;
  readonly height: number;
  /** Charts with the same one show the same moment. */
  readonly group: string;
}

const MAX_HOURS_WITH_CLOCK = 24;

/** Bars of what can be added up, lines of what cannot. Loaded by itself: its library is larger than the rest of a page. */
export default function DrawnChart({ of: drawn, title, height, group }: DrawnChartProps) {
  const { span, measure, series, points } = drawn;
  const data = points.map(({ at, values }) => ({ at: timeLabel(at), ...values }));
  const isClock = span.bucket === 'hour' && points.length <= MAX_HOURS_WITH_CLOCK;
  const midnights = points.filter(({ at }) => at.slice(11, 13) === '00').map(({ at }) => timeLabel(at));
  const isWhole = points.every(({ values }) =>
    Object.values(values).every((value) => value === null || Number.isInteger(value)),
  );
  const common = {
    h: height,
    data,
    dataKey: 'at',
    series: series.map(({ id, label, color }) => ({ name: id, label, color })),
    valueFormatter: measure.format,
    withLegend: series.length > 1,
    legendProps: { verticalAlign: 'bottom' as const },
    tickLine: 'none' as const,
    gridAxis: 'x' as const,
    textColor: 'var(--console-quiet)',
    xAxisProps: {
      minTickGap: 24,
      ...(span.bucket === 'hour' && !isClock && { ticks: midnights }),
      tickFormatter: (label: string) => (isClock ? label.slice(-5) : label.replace(' 00:00', '')),
    },
    yAxisProps: { width: 62, tickCount: 4, allowDecimals: !isWhole },
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
