/** A point of the picture, in its own pixels. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Rectangle extends Point {
  readonly width: number;
  readonly height: number;
}

/** Which parts of a picture are to be changed. */
export interface Mask {
  readonly width: number;
  readonly height: number;
  /** Shows what is painted; of the picture's size. */
  readonly canvas: HTMLCanvasElement;
  /** Paints a line with a round brush; `diameter` in pixels of the picture. */
  paint(from: Point, to: Point, diameter: number): void;
  paintRectangle(rectangle: Rectangle): void;
  clear(): void;
  /** A PNG that is transparent where it is painted; null: nothing is. */
  toFile(): Promise<File | null>;
}

const PAINT = '#e8590c';

export function createMask(width: number, height: number): Mask {
  const canvas = canvasOf(width, height);
  const context = contextOf(canvas);
  let isPainted = false;
  return {
    width,
    height,
    canvas,
    paint: (from, to, diameter) => {
      isPainted = true;
      context.strokeStyle = PAINT;
      context.lineWidth = diameter;
      context.lineCap = 'round';
      context.beginPath();
      context.moveTo(from.x, from.y);
      context.lineTo(to.x, to.y);
      context.stroke();
    },
    paintRectangle: (rectangle) => {
      isPainted = true;
      context.fillStyle = PAINT;
      context.fillRect(rectangle.x, rectangle.y, rectangle.width, rectangle.height);
    },
    clear: () => {
      isPainted = false;
      context.clearRect(0, 0, width, height);
    },
    toFile: async () => {
      if (!isPainted) return null;
      const cut = canvasOf(width, height);
      const all = contextOf(cut);
      all.fillRect(0, 0, width, height);
      all.globalCompositeOperation = 'destination-out';
      all.drawImage(canvas, 0, 0);
      const { promise, resolve, reject } = Promise.withResolvers<File>();
      cut.toBlob((png) => {
        if (png === null) reject(new Error('Could not create the mask.'));
        else resolve(new File([png], 'mask.png', { type: 'image/png' }));
      }, 'image/png');
      return promise;
    },
  };
}

function canvasOf(width: number, height: number): HTMLCanvasElement {
  const canvas = document.createElement('canvas');
  canvas.width = width;
  canvas.height = height;
  return canvas;
}

function contextOf(canvas: HTMLCanvasElement): CanvasRenderingContext2D {
  const context = canvas.getContext('2d');
  if (context === null) throw new Error('The browser does not support canvas.');
  return context;
}
