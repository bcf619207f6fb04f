import { Button, Group, NumberInput, Slider, Stack, Text } from '@mantine/core';
import { type PointerEvent, useEffect, useRef, useState } from 'react';
import type { Mask, Point } from './mask.ts';
import classes from './mask-editor.module.css';

interface MaskEditorProps {
  /** A URL of the picture. */
  readonly url: string;
  readonly mask: Mask;
}

const BRUSH_PERCENT = 8;

/** A picture on which is painted what is to be changed. */
export function MaskEditor({ url, mask }: MaskEditorProps) {
  const [brushPercent, setBrushPercent] = useState(BRUSH_PERCENT);
  const surface = useRef<HTMLDivElement>(null);
  const last = useRef<Point>(undefined);
  useEffect(() => {
    surface.current?.append(mask.canvas);
    return () => mask.canvas.remove();
  }, [mask]);

  const pointOf = ({ clientX, clientY }: PointerEvent): Point => {
    const { left, top, width, height } = mask.canvas.getBoundingClientRect();
    return {
      x: ((clientX - left) / width) * mask.width,
      y: ((clientY - top) / height) * mask.height,
    };
  };
  const paint = (event: PointerEvent): void => {
    const to = pointOf(event);
    mask.paint(last.current ?? to, to, (brushPercent / 100) * Math.max(mask.width, mask.height));
    last.current = to;
  };

  return (
    <Stack gap="xs">
      <Text size="sm">
        Paint the area to change. If nothing is painted, the model may change the whole image. Without a
        pointer, add rectangles below.
      </Text>
      <div
        ref={surface}
        className={classes.surface}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          last.current = undefined;
          paint(event);
        }}
        onPointerMove={(event) => {
          if (event.currentTarget.hasPointerCapture(event.pointerId)) paint(event);
        }}
      >
        <img src={url} alt="To be edited" draggable={false} />
      </div>
      <Group gap="md" align="flex-end">
        <div style={{ flex: '1 1 160px', maxWidth: 280 }}>
          <Text size="sm" fw={500} mb={4} id="brush-size">
            Brush
          </Text>
          <Slider
            thumbProps={{ 'aria-labelledby': 'brush-size' }}
            min={1}
            max={30}
            label={(percent) => `${percent} % of the image`}
            value={brushPercent}
            onChange={setBrushPercent}
          />
        </div>
        <Button size="xs" variant="default" onClick={mask.clear}>
          Clear mask
        </Button>
      </Group>
      <RectangleFields mask={mask} />
    </Stack>
  );
}

/** Paints by numbers. */
function RectangleFields({ mask }: { mask: Mask }) {
  const [rectangle, setRectangle] = useState({
    x: 0,
    y: 0,
    width: Math.round(mask.width / 2),
    height: Math.round(mask.height / 2),
  });
  const fields = [
    ['x', 'Left', mask.width],
    ['y', 'Top', mask.height],
    ['width', 'Width', mask.width],
    ['height', 'Height', mask.height],
  ] as const;
  return (
    <Group gap="xs" align="flex-end">
      {fields.map(([name, label, max]) => (
        <NumberInput
          key={name}
          w={84}
          size="xs"
          label={label}
          min={0}
          max={max}
          allowDecimal={false}
          value={rectangle[name]}
          onChange={(value) => setRectangle((before) => ({ ...before, [name]: Number(value) }))}
        />
      ))}
      <Button size="xs" variant="default" onClick={() => mask.paintRectangle(rectangle)}>
        Add rectangle
      </Button>
    </Group>
  );
}
