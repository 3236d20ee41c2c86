import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';

interface Counted {
  readonly counts: readonly number[];
  /** What their sum is. */
  readonly caption: string;
}

const WIDTH = 720;
const HEIGHT = 180;

/** One bar for each minute. The eye sees the picture, everybody has the sum. */
export function Bars({ counts, caption }: Counted) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(null);
  const data: uPlot.AlignedData = [counts.map((_, minute) => minute + 0.5), [...counts]];
  useEffect(() => {
    const paths = uPlot.paths.bars?.({ size: [0.8] });
    // As the page's style has it in this moment: light or dark.
    const ink = (): string => getComputedStyle(document.body).color;
    const axis = { stroke: ink, grid: { show: false }, ticks: { stroke: ink } };
    plot.current = new uPlot(
      {
        width: Math.min(WIDTH, box.current?.clientWidth || WIDTH),
        height: HEIGHT,
        cursor: { show: false },
        legend: { show: false },
        scales: { x: { time: false, range: [0, counts.length] }, y: { range: [0, null] } },
        axes: [axis, axis],
        series: [{}, { fill: ink, stroke: ink, ...(paths ? { paths } : {}) }],
      },
      data,
      box.current as HTMLDivElement,
    );
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    const redraw = (): void => plot.current?.redraw(false, true);
    scheme.addEventListener('change', redraw);
    return () => {
      scheme.removeEventListener('change', redraw);
      plot.current?.destroy();
    };
  }, []);
  useEffect(() => plot.current?.setData(data), [counts]);
  const total = counts.reduce((sum, one) => sum + one, 0);
  return (
    <figure>
      <figcaption>
        {total} {caption}
      </figcaption>
      <div ref={box} aria-hidden="true" />
    </figure>
  );
}
