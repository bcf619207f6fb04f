/** What the gateway may cost (docs/architecture.md), and whether this run kept to it. */
export interface BudgetLine {
  readonly what: string;
  readonly measured: string;
  readonly budget: string;
  readonly kept: boolean;
}

const line = (what: string, value: number, most: number, unit: string): BudgetLine => ({
  what,
  measured: `${value.toFixed(2)} ${unit}`,
  budget: `≤ ${most} ${unit}`,
  kept: value <= most,
});

export interface Figures {
  readonly smallUs: number;
  /** The same by a key with limits and a budget. */
  readonly limitedUs: number;
  readonly agentUs: number;
  readonly translatedUs: number;
  readonly portkeySmallUs: number;
  readonly throughput: number;
  readonly portkeyThroughput: number;
  readonly addedP50Ms: number;
  readonly addedP99Ms: number;
  readonly brokenStreams: number;
  readonly streamPeakMb: number;
  readonly uploadEdgeMb: number;
}

export const budgetLines = (figures: Figures): readonly BudgetLine[] => [
  line('processor time per small request, edge + text', figures.smallUs, 300, 'µs'),
  line("the same over Portkey's", figures.smallUs / figures.portkeySmallUs, 0.5, '×'),
  {
    what: "throughput over Portkey's",
    measured: `${(figures.throughput / figures.portkeyThroughput).toFixed(2)} ×`,
    budget: '≥ 2 ×',
    kept: figures.throughput >= 2 * figures.portkeyThroughput,
  },
  line('added latency, p50', figures.addedP50Ms, 1, 'ms'),
  line('added latency, p99', figures.addedP99Ms, 5, 'ms'),
  line('limits and a budget on top of counting', figures.limitedUs - figures.smallUs, 80, 'µs'),
  line('115 KB request over the small one', figures.agentUs / figures.smallUs, 1.5, '×'),
  line('translated small request over the one that passes', figures.translatedUs / figures.smallUs, 2, '×'),
  line('broken streams of 1,000 at once', figures.brokenStreams, 0, 'streams'),
  line('most memory of a process meanwhile', figures.streamPeakMb, 300, 'MB'),
  line("the edge's growth under a 25 MB upload", figures.uploadEdgeMb, 16, 'MB'),
];
