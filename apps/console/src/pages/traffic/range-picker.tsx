import { Group, SegmentedControl, Text, TextInput } from '@mantine/core';
import { dateIn, laterDate, timeFormat, useTimeZone } from '../../parts/time-zone.ts';
import classes from './range-picker.module.css';
import { isCustom, PRESETS, type Preset, type Range } from './time-range.ts';

const CUSTOM = 'custom';

interface RangePickerProps {
  readonly of: Range;
  readonly fallback: Preset;
  readonly change: (change: Range) => void;
}

const moment = timeFormat({
  ...{ day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' },
});

/** A range that ends now, two days, or two moments, which a chart or a link has chosen. */
export function RangePicker({ of: range, fallback, change }: RangePickerProps) {
  const custom = isCustom(range);
  const zone = useTimeZone();
  const isOfMoments = [range.from, range.to].some((text) => text?.includes('T'));
  const dayOf = (text: string | undefined): string =>
    text?.includes('T') ? dateIn(Date.parse(text), zone) : (text ?? '');
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
        className={classes.ranges}
        aria-label="Range"
        data={[
          ...Object.keys(PRESETS).map((value) => ({ value, label: value })),
          { value: CUSTOM, label: 'Days' },
        ]}
        value={custom ? CUSTOM : (range.range ?? fallback)}
        onChange={choose}
      />
      {isOfMoments && (
        <Text size="xs" fw={600}>
          {range.from === undefined ? '…' : moment(Date.parse(range.from))} –{' '}
          {range.to === undefined ? 'now' : moment(Date.parse(range.to))}
        </Text>
      )}
      {custom && (
        <Group gap={6} wrap="nowrap">
          <TextInput
            type="date"
            size="xs"
            aria-label={`First day (${zone})`}
            value={dayOf(range.from)}
            max={dayOf(range.to)}
            onChange={(event) => change({ from: event.currentTarget.value || undefined })}
          />
          <TextInput
            type="date"
            size="xs"
            aria-label={`Last day (${zone})`}
            value={dayOf(range.to)}
            min={dayOf(range.from)}
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
