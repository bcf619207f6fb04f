import { Group, SegmentedControl, TextInput } from '@mantine/core';
import { isCustom, PRESETS, type Preset, type Range } from './time-range.ts';

const CUSTOM = 'custom';
const DAY_MS = 86_400_000;

interface RangePickerProps {
  readonly of: Range;
  readonly fallback: Preset;
  readonly change: (change: Range) => void;
}

const dayOf = (atMs: number): string => new Date(atMs).toISOString().slice(0, 10);

/** A range that ends now, or two days. */
export function RangePicker({ of: range, fallback, change }: RangePickerProps) {
  const custom = isCustom(range);
  const choose = (value: string): void => {
    const preset = Object.keys(PRESETS).find((name): name is Preset => name === value);
    if (preset !== undefined) change({ range: preset, from: undefined, to: undefined });
    else change({ range: undefined, from: dayOf(Date.now() - 6 * DAY_MS), to: dayOf(Date.now()) });
  };
  return (
    <Group gap="xs">
      <SegmentedControl
        size="xs"
        aria-label="Range"
        data={[
          ...Object.keys(PRESETS).map((value) => ({ value, label: value })),
          { value: CUSTOM, label: 'Days' },
        ]}
        value={custom ? CUSTOM : (range.range ?? fallback)}
        onChange={choose}
      />
      {custom && (
        <Group gap={6} wrap="nowrap">
          <TextInput
            type="date"
            size="xs"
            aria-label="First day (UTC)"
            value={range.from ?? ''}
            max={range.to}
            onChange={(event) => change({ from: event.currentTarget.value || undefined })}
          />
          <TextInput
            type="date"
            size="xs"
            aria-label="Last day (UTC)"
            value={range.to ?? ''}
            min={range.from}
            onChange={(event) => change({ to: event.currentTarget.value || undefined })}
          />
        </Group>
      )}
    </Group>
  );
}
