// The first page's drawing, from stage to stage; see scripts/ladder/landing.py. It goes through once.
"use strict";
{
  const HOLD = 1800;  // ms for each stage
  const WORDS = document.documentElement.lang === "zh" ? { play: "播放", pause: "暂停", again: "重播" }
                                                       : { play: "Play", pause: "Pause", again: "Play again" };
  const drawing = document.querySelector(".landing svg"), button = document.querySelector(".landing button");
  const frames = JSON.parse(drawing.dataset.frames);
  const part = name => drawing.querySelector(`[data-part="${name}"]`);
  let at = frames.length - 1, timer = 0;

  const show = () => {
    for (const [name, value] of Object.entries(frames[at])) {
      if (name === "lines") part(name).setAttribute("d", value);
      else if (typeof value === "string") part(name).textContent = value;
      else ["x", "y", "width", "height"].forEach((side, i) => part(name).style[side] = `${value[i]}px`);
    }
  };
  const stop = words => {
    clearInterval(timer);
    timer = 0;
    drawing.classList.remove("moves");
    button.textContent = words;
  };
  const step = () => {
    if (at === frames.length - 1) return stop(WORDS.again);
    at += 1;
    show();
  };
  const play = () => {
    if (at === frames.length - 1) at = 0;
    show();
    drawing.classList.add("moves");
    button.textContent = WORDS.pause;
    timer = setInterval(step, HOLD);
  };

  button.hidden = false;
  button.addEventListener("click", () => timer ? stop(WORDS.play) : play());
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) stop(WORDS.play);
  else play();
}
