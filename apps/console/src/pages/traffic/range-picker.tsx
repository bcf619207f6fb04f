import { Group, SegmentedControl, Text, TextInput } from '@mantine/core';
import { dateIn, laterDate, useTimeZone } from '../../parts/time-zone.ts';
import { isCustom, PRESETS, type Preset, type Range } from './time-range.ts';

const CUSTOM = 'custom';

interface RangePickerProps {
  readonly of: Range;
  readonly fallback: Preset;
  readonly change: (change: Range) => void;
}

/** A range that ends now, or two days. */
export function RangePicker({ of: range, fallback, change }: RangePickerProps) {
  const custom = isCustom(range);
  const zone = useTimeZone();
  const choose = (value: string): void => {
    const preset = Object.keys(PRESETS).find((name): name is Preset => name === value);
    if (preset !== undefined) change({ range: preset, from: undefined, to: undefined });
    else {
      const today = dateIn(Date.now(), zone);
      change({ range: undefined, from: laterDate(today, -6), to: today });
    }
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
            aria-label={`First day (${zone})`}
            value={range.from ?? ''}
            max={range.to}
            onChange={(event) => change({ from: event.currentTarget.value || undefined })}
          />
          <TextInput
            type="date"
            size="xs"
            aria-label={`Last day (${zone})`}
            value={range.to ?? ''}
            min={range.from}
            onChange={(event) => change({ to: event.currentTarget.value || undefined })}
          />
        </Group>
      )}
      <Text size="xs" c="dimmed">
        {zone}
      </Text>
    </Group>
  );
}
